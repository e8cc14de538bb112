#include "replication/store/open/merge_records.h"

#include <algorithm>
#include <memory>

#include "replication/base/rocksdb_errors.h"
#include "replication/base/rocksdb_version.h"
#include "replication/session/escape_text.h"
#include "replication/store/directory/directory_lock.h"
#include "replication/store/open/options_file.h"
#include "replication/store/open/options_to_look.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::Env;
using rocksdb::Slice;
using rocksdb::Status;
using WalProcessingOption = rocksdb::WalFilter::WalProcessingOption;

class MergedFamilies final : public BatchHandler {
 public:
  const std::set<uint32_t>& ids() const { return ids_; }

  Status MergeCF(uint32_t id, const Slice&, const Slice&) override {
    ids_.insert(id);
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
  std::set<uint32_t> ids_;
};

// As it is replayed, none of it comes into memory.
class OnlyLooking final : public rocksdb::WalFilter {
 public:
  explicit OnlyLooking(MergeRecords* records) : records_(records) {}

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
  MergeRecords* const records_;
};

// As error messages call it.
std::string OperatorOf(Env* env, const std::string& directory,
                       const std::string& family) {
  std::string name;
  if (!MergeOperatorName(env, directory, family, &name).ok()) name.clear();
  return "the merge operator of the column family '" + EscapeText(family) +
         "' of " + directory +
         (name.empty() ? "" : " (by its OPTIONS file " + name + ")");
}

}  // namespace

MergeRecords::MergeRecords(
    const std::vector<ColumnFamilyDescriptor>& families) {
  for (const ColumnFamilyDescriptor& family : families) {
    if (family.options.merge_operator == nullptr &&
        family.name != kIndexFamilyName) {
      without_operator_.insert(family.name);
    }
  }
}

void MergeRecords::ColumnFamilyLogNumberMap(
    const std::map<uint32_t, uint64_t>& log_numbers,
    const std::map<std::string, uint32_t>& ids) {
  families_.clear();
  for (const auto& [name, id] : ids) {
    if (!without_operator_.contains(name)) continue;
    const auto first = log_numbers.find(id);
    families_[id] = {name, first == log_numbers.end() ? 0 : first->second};
  }
}

WalProcessingOption MergeRecords::LogRecordFound(
    unsigned long long log, const std::string&,
    const rocksdb::WriteBatch& batch, rocksdb::WriteBatch*, bool*) {
  if (found_ || families_.empty()) {
    return WalProcessingOption::kContinueProcessing;
  }
  MergedFamilies merged;
  // One that does not read fails in RocksDB as well, after what it has read.
  batch.Iterate(&merged).PermitUncheckedError();
  for (const uint32_t id : merged.ids()) {
    const auto family = families_.find(id);
    if (found_ || family == families_.end() || log < family->second.first_log) {
      continue;
    }
    found_ = true;
    family_ = family->second.name;
  }
  return WalProcessingOption::kContinueProcessing;
}

Status MergeRecords::Check(Env* env, const std::string& directory) const {
  if (!found_) return Status::OK();
  return Status::InvalidArgument(
      "rocksync: " + OperatorOf(env, directory, family_) +
          " is not given, and the log holds Merge records of that family: "
          "RocksDB would end the log there, and drop what follows",
      "give the operator (ColumnFamilyOptions::merge_operator); a command "
      "cannot: call ReplicatedDB::Detach or Restamp with the program's "
      "options; or let its program open the database, which writes the log "
      "into tables, compact that family (DB::CompactRange), without which a "
      "command that reads values refuses it again, and close it");
}

Status CheckMergeRecords(const rocksdb::DBOptions& options,
                         const std::string& name,
                         const std::vector<ColumnFamilyDescriptor>& families) {
  MergeRecords records(families);
  // RocksDB goes back to the latest state that it can read, whichever that is.
  if (records.IsNeedless() || options.best_efforts_recovery) {
    return Status::OK();
  }
  const DirectoryLock lock(options.env, name);
  std::vector<std::string> names;
  if (!lock.status().ok() ||
      !rocksdb::DB::ListColumnFamilies(options, name, &names).ok()) {
    return Status::OK();
  }
  std::vector<ColumnFamilyDescriptor> there;
  for (const ColumnFamilyDescriptor& family : families) {
    if (family.name != kIndexFamilyName &&
        std::find(names.begin(), names.end(), family.name) != names.end()) {
      there.push_back(family);
    }
  }
  OnlyLooking looking(&records);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  const Status opened = OpenPlainForReadOnly(OptionsToLook(options, &looking),
                                             name, there, &handles, &db);
  if (!opened.ok()) return Status::OK();
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
