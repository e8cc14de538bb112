#include "replication/store/offline/needed_log.h"

#include <algorithm>
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
  const TwoPhaseMarks& marks() const { return marks_; }

  void TwoPhaseMark(TwoPhase mark, const Slice& name) override {
    marks_.Add(mark, name);
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
  TwoPhaseMarks marks_;
};

}  // namespace

rocksdb::WalFilter::WalProcessingOption NeededLog::LogRecordFound(
    unsigned long long log, const std::string& file,
    const rocksdb::WriteBatch& batch, rocksdb::WriteBatch* changed,
    bool* is_changed) {
  ++batches_;
  FamiliesOf families;
  if (!batch.Iterate(&families).ok()) {
    return WalProcessingOption::kContinueProcessing;
  }
  NoteMarks(families.marks(), families.ids(), batch);
  if (families.marks().prepares()) {
    return WalProcessingOption::kIgnoreCurrentRecord;
  }
  if (batch.Count() == 0) return WalProcessingOption::kContinueProcessing;
  const uint64_t last = SequenceOf(batch) + batch.Count() - 1;
  return AreInTables(families.ids(), last)
             ? WalProcessingOption::kIgnoreCurrentRecord
             : unreplayable_.LogRecordFound(log, file, batch, changed,
                                            is_changed);
}

Status NeededLog::Check(rocksdb::Env* env, const std::string& directory) const {
  return loses_prepared_ || !prepared_.empty()
             ? PreparedTransactionsError(directory)
             : unreplayable_.Check(env, directory);
}

bool NeededLog::AreInTables(const std::set<uint32_t>& families,
                            uint64_t last) const {
  return std::all_of(families.begin(), families.end(), [&](uint32_t id) {
    const auto in_tables = in_tables_.find(id);
    return in_tables != in_tables_.end() && in_tables->second >= last;
  });
}

// Notes prepared transactions, and their ends. A prepared transaction gets its
// sequence numbers with its commit, beginning with that of the batch with the
// mark; one that is written before its commit has them already.
void NeededLog::NoteMarks(const TwoPhaseMarks& marks,
                          const std::set<uint32_t>& families,
                          const rocksdb::WriteBatch& batch) {
  const uint64_t first = SequenceOf(batch);
  for (const std::string& name : marks.prepared()) {
    Transaction& transaction = prepared_[name];
    transaction.families.insert(families.begin(), families.end());
    transaction.operations += batch.Count();
    transaction.in_tables = IsWrittenBeforeCommit(batch) &&
                            AreInTables(transaction.families, first);
  }
  for (const std::string& name : marks.committed()) {
    const auto prepared = prepared_.find(name);
    if (prepared == prepared_.end()) continue;
    const Transaction& transaction = prepared->second;
    if (!transaction.in_tables &&
        !AreInTables(transaction.families,
                     first + transaction.operations - 1)) {
      loses_prepared_ = true;
    }
    prepared_.erase(prepared);
  }
  for (const std::string& name : marks.rolled_back()) prepared_.erase(name);
}

}  // namespace rocksync
