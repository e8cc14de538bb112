#include "tools/diff.h"

#include <memory>
#include <ostream>
#include <string_view>

#include "replication/metrics/json.h"
#include "replication/store/open/unreplayable_records.h"
#include "rocksdb/comparator.h"
#include "tools/difference_line.h"
#include "tools/offline_db.h"
#include "tools/with_noun.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Slice;
using rocksdb::Status;

std::unique_ptr<rocksdb::Iterator> Walk(const OfflineDB& db,
                                        ColumnFamilyHandle* family) {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  options.fill_cache = false;
  options.readahead_size = size_t{2} << 20;
  std::unique_ptr<rocksdb::Iterator> it(db.db()->NewIterator(options, family));
  it->SeekToFirst();
  return it;
}

class Diff {
 public:
  Diff(const DiffOptions& options, std::ostream& out)
      : options_(options), out_(out) {}

  Status Compare(const OfflineDB& left, const OfflineDB& right) {
    for (const auto& [name, handle] : right.families()) {
      if (left.families().count(name) == 0) NoteFamily(kMissingHereWord, name);
    }
    for (const auto& [name, handle] : left.families()) {
      const auto match = right.families().find(name);
      if (match == right.families().end()) {
        NoteFamily(kMissingThereWord, name);
        continue;
      }
      const Status status =
          CompareFamily(name, left, handle, right, match->second);
      if (!status.ok()) return status;
    }
    return Status::OK();
  }

  bool equal() const { return families_ == 0 && differences() == 0; }

  void PrintSummary() const {
    if (options_.json) {
      out_ << JsonObject()
                  .Add("equal", equal())
                  .Add("same", same_)
                  .Add("differences", differences())
                  .Add(kMissingThereWord, only_left_)
                  .Add(kMissingHereWord, only_right_)
                  .Add(kOtherContent, differ_)
                  .Add("families_on_one_side", families_)
                  .Text()
           << "\n";
      return;
    }
    if (differences() > options_.max_keys) {
      out_ << "... and " << differences() - options_.max_keys << " more\n";
    }
    out_ << (equal() ? "equal: " : "different: ") << WithNoun(same_, "pair")
         << " the same";
    if (!equal()) {
      out_ << ", " << only_left_ << " only on the left, " << only_right_
           << " only on the right, " << differ_ << " with different values";
    }
    if (families_ > 0) {
      out_ << ", " << WithNoun(families_, "family", "families")
           << " on one side only";
    }
    out_ << "\n";
  }

 private:
  Status CompareFamily(const std::string& name, const OfflineDB& left,
                       ColumnFamilyHandle* left_family, const OfflineDB& right,
                       ColumnFamilyHandle* right_family) {
    const rocksdb::Comparator* const order = left_family->GetComparator();
    if (std::string(order->Name()) != right_family->GetComparator()->Name()) {
      return Status::InvalidArgument(
          "column family " + name + " has different comparators",
          std::string(order->Name()) + " and " +
              right_family->GetComparator()->Name());
    }
    const auto a = Walk(left, left_family);
    const auto b = Walk(right, right_family);
    // An iterator that failed looks like one at its end.
    const auto read = [&] {
      rocksdb::Env* const env = rocksdb::Env::Default();
      const Status status =
          NameMergeOperator(a->status(), env, options_.left, name);
      return status.ok()
                 ? NameMergeOperator(b->status(), env, options_.right, name)
                 : status;
    };
    Status status = read();
    while (status.ok() && (a->Valid() || b->Valid())) {
      const int side = !a->Valid()   ? 1
                       : !b->Valid() ? -1
                                     : order->Compare(a->key(), b->key());
      if (side < 0) {
        NoteKey(kMissingThereWord, name, a->key(), &only_left_);
      } else if (side > 0) {
        NoteKey(kMissingHereWord, name, b->key(), &only_right_);
      } else if (a->columns() != b->columns()) {  // of a plain value: one
        NoteKey(kOtherContent, name, a->key(), &differ_);
      } else {
        ++same_;
      }
      if (side <= 0) a->Next();
      if (side >= 0) b->Next();
      status = read();
    }
    return status;
  }

  uint64_t differences() const { return only_left_ + only_right_ + differ_; }

  void NoteFamily(std::string_view kind, const std::string& name) {
    ++families_;
    if (options_.json) {
      out_ << JsonObject()
                  .Add("difference", kind)
                  .Add("family", Readable(name))
                  .Text()
           << "\n";
    } else {
      PrintDifference(out_, kind, Readable(name), "");
    }
  }

  void NoteKey(std::string_view kind, const std::string& family,
               const Slice& key, uint64_t* count) {
    ++*count;
    if (differences() > options_.max_keys) return;
    const std::string_view bytes(key.data(), key.size());
    if (options_.json) {
      out_ << JsonObject().Add("difference", kind).AddKey(family, bytes).Text()
           << "\n";
    } else {
      PrintDifference(out_, kind, Readable(family), Readable(bytes));
    }
  }

  const DiffOptions& options_;
  std::ostream& out_;
  uint64_t same_ = 0;
  uint64_t only_left_ = 0;
  uint64_t only_right_ = 0;
  uint64_t differ_ = 0;
  uint64_t families_ = 0;
};

}  // namespace

int RunDiff(const DiffOptions& options, std::ostream& out, std::ostream& err) {
  std::unique_ptr<OfflineDB> left;
  std::unique_ptr<OfflineDB> right;
  Status status = CheckTwoDirectories(options.left, options.right);
  if (status.ok()) {
    status = CheckWalDirs(options.wal_dirs, {options.left, options.right});
  }
  if (status.ok()) {
    status = OfflineDB::Open(options.left, options.wal_dirs, &left);
  }
  if (status.ok()) {
    status = OfflineDB::Open(options.right, options.wal_dirs, &right);
  }
  Diff diff(options, out);
  if (status.ok()) status = diff.Compare(*left, *right);
  if (!status.ok()) {
    err << "rocksync diff: " << status.ToString() << "\n";
    return kDiffError;
  }
  diff.PrintSummary();
  return diff.equal() ? kDiffEqual : kDiffDifferent;
}

}  // namespace rocksync
