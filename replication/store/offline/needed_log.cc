#include "replication/store/offline/needed_log.h"

#include <set>

#include "replication/base/rocksdb_version.h"
#include "replication/base/write_batch_format.h"

namespace rocksync {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

class FamiliesOf final : public BatchHandler {
 public:
  const std::set<uint32_t>& ids() const { return ids_; }
  bool prepares() const { return prepares_; }

  void TwoPhaseMark(TwoPhase mark, const Slice&) override {
    prepares_ = prepares_ || mark == TwoPhase::kBeginPrepare;
  }
  Status PutCF(uint32_t id, const Slice&, const Slice&) override {
    return See(id);
  }
  Status DeleteCF(uint32_t id, const Slice&) override { return See(id); }
  Status SingleDeleteCF(uint32_t id, const Slice&) override { return See(id); }
  Status MergeCF(uint32_t id, const Slice&, const Slice&) override {
    return See(id);
  }
  Status DeleteRangeCF(uint32_t id, const Slice&, const Slice&) override {
    return See(id);
  }
  Status OtherPutCF(uint32_t id, const char*) override { return See(id); }
  void LogData(const Slice&) override {}
  Status MarkNoop(bool) override { return Status::OK(); }

 private:
  Status See(uint32_t id) {
    ids_.insert(id);
    return Status::OK();
  }

  std::set<uint32_t> ids_;
  bool prepares_ = false;
};

}  // namespace

rocksdb::WalFilter::WalProcessingOption NeededLog::LogRecordFound(
    unsigned long long log, const std::string& file,
    const rocksdb::WriteBatch& batch, rocksdb::WriteBatch* changed,
    bool* is_changed) {
  ++batches_;
  FamiliesOf families;
  if (!batch.Iterate(&families).ok() || batch.Count() == 0) {
    return WalProcessingOption::kContinueProcessing;
  }
  // What is prepared has the sequence numbers of its commit.
  if (families.prepares()) {
    return unreplayable_.LogRecordFound(log, file, batch, changed, is_changed);
  }
  const uint64_t last = SequenceOf(batch) + batch.Count() - 1;
  for (const uint32_t id : families.ids()) {
    const auto in_tables = in_tables_.find(id);
    if (in_tables == in_tables_.end() || in_tables->second < last) {
      return unreplayable_.LogRecordFound(log, file, batch, changed,
                                          is_changed);
    }
  }
  return WalProcessingOption::kIgnoreCurrentRecord;
}

}  // namespace rocksync
