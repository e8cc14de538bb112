#include "replication/store/open/unreplayable_records.h"

#include <algorithm>
#include <memory>

#include "replication/base/rocksdb_errors.h"
#include "replication/base/rocksdb_version.h"
#include "replication/base/write_batch_format.h"
#include "replication/store/directory/directory_lock.h"
#include "replication/store/open/options_file.h"
#include "replication/store/open/read_only_options.h"
#include "replication/text/escape_text.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::Env;
using rocksdb::Slice;
using rocksdb::Status;
using WalProcessingOption = rocksdb::WalFilter::WalProcessingOption;

// Collects what a batch has of the kinds that matter here. RocksDB's own
// HasBeginPrepare ends the process if RocksDB is built with assertions.
class RecordKinds final : public BatchHandler {
 public:
  // Families that have a Merge record.
  const std::set<uint32_t>& merged() const { return merged_; }
  const TwoPhaseMarks& marks() const { return marks_; }

  void TwoPhaseMark(TwoPhase mark, const Slice& name) override {
    marks_.Add(mark, name);
  }
  Status MergeCF(uint32_t id, const Slice&, const Slice&) override {
    merged_.insert(id);
    return {};
  }
  Status PutCF(uint32_t, const Slice&, const Slice&) override { return {}; }
  Status DeleteCF(uint32_t, const Slice&) override { return {}; }
  Status SingleDeleteCF(uint32_t, const Slice&) override { return {}; }
  Status DeleteRangeCF(uint32_t, const Slice&, const Slice&) override {
    return {};
  }
  Status OtherPutCF(uint32_t, const char*) override { return {}; }
  void LogData(const Slice&) override {}
  Status MarkNoop(bool) override { return {}; }

 private:
  std::set<uint32_t> merged_;
  TwoPhaseMarks marks_;
};

// Only looks at a log as it is replayed: none of it comes into memory.
class OnlyLooking final : public rocksdb::WalFilter {
 public:
  explicit OnlyLooking(UnreplayableRecords* records) : records_(records) {}

  const char* Name() const override { return "rocksync.OnlyLooking"; }
  void ColumnFamilyLogNumberMap(
      const std::map<uint32_t, uint64_t>& log_numbers,
      const std::map<std::string, uint32_t>& ids) override {
    records_->ColumnFamilyLogNumberMap(log_numbers, ids);
  }
  WalProcessingOption LogRecordFound(unsigned long long log,
                                     const std::string& file,
                                     const rocksdb::WriteBatch& batch,
                                     rocksdb::WriteBatch* changed,
                                     bool* is_changed) override {
    records_->LogRecordFound(log, file, batch, changed, is_changed);
    return WalProcessingOption::kIgnoreCurrentRecord;
  }

 private:
  UnreplayableRecords* const records_;
};

// Returns how error messages call the operator.
std::string OperatorOf(Env* env, const std::string& directory,
                       const std::string& family) {
  std::string name;
  if (!MergeOperatorName(env, directory, family, &name).ok()) name.clear();
  return "the merge operator of the column family '" + EscapeText(family) +
         "' of " + directory +
         (name.empty() ? "" : " (by its OPTIONS file " + name + ")");
}

}  // namespace

UnreplayableRecords::UnreplayableRecords(
    const std::vector<ColumnFamilyDescriptor>& families, Prepared prepared)
    : prepared_(prepared) {
  for (const ColumnFamilyDescriptor& family : families) {
    if (family.options.merge_operator == nullptr &&
        family.name != kIndexFamilyName) {
      without_operator_.insert(family.name);
    }
  }
}

void UnreplayableRecords::ColumnFamilyLogNumberMap(
    const std::map<uint32_t, uint64_t>& log_numbers,
    const std::map<std::string, uint32_t>& ids) {
  families_.clear();
  first_log_ = UINT64_MAX;
  for (const auto& [name, id] : ids) {
    const auto found = log_numbers.find(id);
    const uint64_t first = found == log_numbers.end() ? 0 : found->second;
    first_log_ = std::min(first_log_, first);
    if (without_operator_.contains(name)) families_[id] = {name, first};
  }
}

// Notes the ends of prepared transactions, which show whether one of an earlier
// file is lost. A commit in a file that is not read was applied, and is in
// tables, as is all that these files hold. A commit in a file that is read
// commits nothing, unless what it commits was written before.
void UnreplayableRecords::NoteEnds(uint64_t log, const TwoPhaseMarks& marks) {
  for (const std::string& name : marks.committed()) {
    const auto prepared = prepared_before_.find(name);
    if (prepared == prepared_before_.end()) continue;
    if (!prepared->second && IsRead(log)) loses_prepared_ = true;
    prepared_before_.erase(prepared);
  }
  for (const std::string& name : marks.rolled_back()) {
    prepared_before_.erase(name);
  }
}

WalProcessingOption UnreplayableRecords::LogRecordFound(
    unsigned long long log, const std::string&,
    const rocksdb::WriteBatch& batch, rocksdb::WriteBatch*, bool*) {
  RecordKinds kinds;
  // A batch that does not read fails in RocksDB as well, after what was read.
  batch.Iterate(&kinds).PermitUncheckedError();
  NoteEnds(log, kinds.marks());
  if (kinds.marks().prepares() &&
      (prepared_ == Prepared::kRefused || IsWrittenBeforeCommit(batch))) {
    loses_prepared_ = loses_prepared_ || IsRead(log);
    for (const std::string& name : kinds.marks().prepared()) {
      prepared_before_[name] = IsWrittenBeforeCommit(batch);
    }
    return WalProcessingOption::kIgnoreCurrentRecord;
  }
  for (const uint32_t id : kinds.merged()) {
    const auto family = families_.find(id);
    if (!merged_.has_value() && family != families_.end() &&
        log >= family->second.first_log) {
      merged_ = family->second.name;
    }
  }
  return WalProcessingOption::kContinueProcessing;
}

Status UnreplayableRecords::Check(Env* env,
                                  const std::string& directory) const {
  if (loses_prepared_ || !prepared_before_.empty()) {
    return PreparedTransactionsError(directory);
  }
  if (!merged_.has_value()) return Status::OK();
  return Status::InvalidArgument(
      "rocksync: " + OperatorOf(env, directory, *merged_) +
          " is not given, and the log holds Merge records of that family: "
          "RocksDB would end the log there, and drop what follows",
      "give the operator (ColumnFamilyOptions::merge_operator); a command "
      "cannot: call ReplicatedDB::Detach or Restamp with the program's "
      "options; or let its program open the database, which writes the log "
      "into tables, compact that family (DB::CompactRange), without which a "
      "command that reads values refuses it again, and close it");
}

Status PreparedTransactionsError(const std::string& directory) {
  return Status::InvalidArgument(
      "rocksync: the log of " + directory +
          " holds transactions that a TransactionDB has prepared, which "
          "RocksDB replays for a TransactionDB alone",
      "let the program that uses the TransactionDB open the database, commit "
      "or roll back what is prepared, then flush every column family "
      "(DB::Flush), which writes the log into tables, and close it");
}

Status CheckLogReplays(const rocksdb::DBOptions& options,
                       const std::string& name,
                       const std::vector<ColumnFamilyDescriptor>& families) {
  // With this option RocksDB goes back to the latest state that it can read,
  // whichever that is.
  if (options.best_efforts_recovery) return Status::OK();
  UnreplayableRecords records(families);
  const DirectoryLock lock(options.env, name);
  std::vector<std::string> names;
  if (!lock.status().ok() ||
      !rocksdb::DB::ListColumnFamilies(options, name, &names).ok()) {
    return Status::OK();
  }
  std::vector<ColumnFamilyDescriptor> there;
  for (const std::string& family : names) {
    const auto given = std::find_if(
        families.begin(), families.end(),
        [&](const ColumnFamilyDescriptor& f) { return f.name == family; });
    // The index is among them, with default options, which suffice here: it
    // matters up to where of the log it is in tables.
    if (family == kIndexFamilyName) {
      there.emplace_back(family, rocksdb::ColumnFamilyOptions());
    } else if (given != families.end()) {
      there.push_back(*given);
    }
  }
  OnlyLooking looking(&records);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  // An opening that fails, as at a damaged place, has met the records before
  // that; one with other options may not end there.
  OpenPlainForReadOnly(ReadOnlyOptions(options, &looking), name, there,
                       &handles, &db)
      .PermitUncheckedError();
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  return records.Check(options.env, name);
}

Status NameMergeOperator(const Status& status, Env* env,
                         const std::string& directory,
                         const std::string& family) {
  if (!LacksMergeOperator(status) || IsOurError(status)) return status;
  return Status::InvalidArgument(
      "rocksync: " + OperatorOf(env, directory, family) +
          " is needed to read what was merged there, and a command has only "
          "what RocksDB makes by its name",
      "let the program that uses the database compact that family "
      "(DB::CompactRange), which merges it; replicas that run compare "
      "themselves with their own operators (`rocksync verify`): " +
          status.ToString());
}

}  // namespace rocksync
