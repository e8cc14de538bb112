#include "tools/stand_ins.h"

#include <string_view>
#include <utility>

namespace rocksync {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

class NamedComparator final : public rocksdb::Comparator {
 public:
  explicit NamedComparator(std::string name) : name_(std::move(name)) {}

  const char* Name() const override { return name_.c_str(); }
  int Compare(const Slice& a, const Slice& b) const override {
    return a.compare(b);
  }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  const std::string name_;
};

class MergesNothing final : public rocksdb::MergeOperator {
 public:
  const char* Name() const override { return "rocksync.StandIn"; }
  bool FullMergeV2(const MergeOperationInput&,
                   MergeOperationOutput*) const override {
    return false;
  }
};

}  // namespace

std::unique_ptr<rocksdb::Comparator> StandInComparator(std::string name) {
  return std::make_unique<NamedComparator>(std::move(name));
}

void AddStandInMergeOperator(rocksdb::ColumnFamilyOptions* options) {
  options->merge_operator = std::make_shared<MergesNothing>();
  options->max_successive_merges = 0;  // else a replay merges
}

std::string MissingComparator(const Status& status) {
  constexpr std::string_view kWords = "does not match existing comparator ";
  const std::string text = status.ToString();
  const size_t at = text.find(kWords);
  if (!status.IsInvalidArgument() || at == std::string::npos) return "";
  return text.substr(at + kWords.size());
}

Status ExplainMissingComparator(const Status& status,
                                const std::string& directory) {
  const std::string comparator = MissingComparator(status);
  if (comparator.empty()) return status;
  return Status::InvalidArgument(
      "rocksync: a column family of " + directory +
          " is ordered by the comparator " + comparator +
          ", which RocksDB cannot make by its name",
      "let the program that has it do this (ReplicatedDB::Detach, Restamp or "
      "Resync are the commands of these names), or run it, and compare "
      "replicas that run by `rocksync verify HOST:PORT HOST:PORT`");
}

}  // namespace rocksync
