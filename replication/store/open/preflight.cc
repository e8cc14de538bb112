#include "replication/store/open/preflight.h"

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "replication/base/rocksdb_version.h"
#include "replication/store/directory/directory_lock.h"
#include "replication/store/format/dropped_batches.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/marker.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/index/index_options.h"
#include "replication/store/index/index_reader.h"
#include "replication/store/open/damaged_manifest.h"
#include "replication/store/open/index_records.h"
#include "replication/store/open/known_families.h"
#include "replication/store/open/log_files.h"
#include "replication/store/open/log_records.h"
#include "replication/store/open/opened.h"
#include "replication/store/open/read_only_options.h"
#include "replication/store/open/unreplayable_records.h"
#include "rocksdb/memtablerep.h"
#include "rocksdb/wal_filter.h"
#include "rocksdb/write_batch.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::DB;
using rocksdb::Slice;
using rocksdb::Status;
using WalProcessingOption = rocksdb::WalFilter::WalProcessingOption;

// Looks for a change of the index's meta records in a batch, and which families
// the batch writes to.
class MetaRecordFinder final : public BatchHandler {
 public:
  explicit MetaRecordFinder(uint32_t index_id) : index_id_(index_id) {}

  bool found() const { return found_; }
  const std::set<uint32_t>& families() const { return families_; }

  Status PutCF(uint32_t id, const Slice& key, const Slice&) override {
    return See(id, key);
  }
  Status DeleteCF(uint32_t id, const Slice& key) override {
    return See(id, key);
  }
  // The library does none of these to the index.
  Status SingleDeleteCF(uint32_t id, const Slice& key) override {
    return See(id, key);
  }
  Status MergeCF(uint32_t id, const Slice& key, const Slice&) override {
    return See(id, key);
  }
  Status DeleteRangeCF(uint32_t id, const Slice&, const Slice&) override {
    families_.insert(id);
    found_ = found_ || id == index_id_;
    return {};
  }
  Status OtherPutCF(uint32_t id, const char*) override {
    families_.insert(id);
    return {};
  }
  void LogData(const Slice&) override {}
  Status MarkNoop(bool) override { return {}; }
  bool Continue() override { return true; }

 private:
  Status See(uint32_t id, const Slice& key) {
    families_.insert(id);
    found_ = found_ || (id == index_id_ && key.starts_with(MetaKey({})));
    return {};
  }

  const uint32_t index_id_;
  bool found_ = false;
  std::set<uint32_t> families_;
};

// Has RocksDB replay only what has a meta record of the index: the whole log
// would have to fit into memory, since a database that is open for reading
// cannot flush. Counts the batches that RocksDB reads, looks for unreplayable
// ones among them, and notes of which families the log has writes.
class MetaRecordsOnly final : public rocksdb::WalFilter {
 public:
  explicit MetaRecordsOnly(const std::vector<ColumnFamilyDescriptor>& families)
      : unreplayable_(families) {}

  const UnreplayableRecords& unreplayable() const { return unreplayable_; }

  const char* Name() const override { return "rocksync.MetaRecordsOnly"; }

  void ColumnFamilyLogNumberMap(
      const std::map<uint32_t, uint64_t>& log_numbers,
      const std::map<std::string, uint32_t>& ids) override {
    unreplayable_.ColumnFamilyLogNumberMap(log_numbers, ids);
    log_numbers_ = log_numbers;
    const auto index = ids.find(kIndexFamilyName);
    if (index != ids.end()) index_id_ = index->second;
  }

  uint64_t BatchesOf(uint64_t log) const {
    const auto found = batches_.find(log);
    return found == batches_.end() ? 0 : found->second;
  }
  // Returns whether all writes to a family that can be read are in tables.
  bool AllIsInTables(uint32_t family) const {
    return all_were_read_ && !in_log_.contains(family);
  }

  WalProcessingOption LogRecordFound(unsigned long long log,
                                     const std::string& file,
                                     const rocksdb::WriteBatch& batch,
                                     rocksdb::WriteBatch* changed,
                                     bool* is_changed) override {
    ++batches_[log];
    if (unreplayable_.LogRecordFound(log, file, batch, changed, is_changed) ==
        WalProcessingOption::kIgnoreCurrentRecord) {
      return WalProcessingOption::kIgnoreCurrentRecord;
    }
    MetaRecordFinder finder(index_id_);
    const bool read = batch.Iterate(&finder).ok();
    all_were_read_ = all_were_read_ && read;
    for (const uint32_t family : finder.families()) {
      const auto first = log_numbers_.find(family);
      if (first == log_numbers_.end() || log >= first->second) {
        in_log_.insert(family);
      }
    }
    return read && !finder.found() ? WalProcessingOption::kIgnoreCurrentRecord
                                   : WalProcessingOption::kContinueProcessing;
  }

 private:
  UnreplayableRecords unreplayable_;
  uint32_t index_id_ = UINT32_MAX;
  std::map<uint64_t, uint64_t> batches_;  // by the number of the log
  // Of each family the number of the first log that is replayed.
  std::map<uint32_t, uint64_t> log_numbers_;
  std::set<uint32_t> in_log_;
  bool all_were_read_ = true;
};

class Look {
 public:
  Look(const ReplicatedDBOptions& replication, const std::string& name,
       const PreflightInput& before,
       const std::vector<ColumnFamilyDescriptor>& families)
      : replication_(replication),
        name_(name),
        before_(before),
        filter_(families) {
    traces_.loss = before.loss;
  }
  ~Look() {
    for (ColumnFamilyHandle* handle : handles_) {
      db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
    if (index_ != nullptr) {
      db_->DestroyColumnFamilyHandle(index_).PermitUncheckedError();
    }
  }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

  Status Open(const rocksdb::DBOptions& options,
              const std::vector<ColumnFamilyDescriptor>& families);
  // Returns what the log has shown by then, whatever became of Open.
  Status CheckLog(rocksdb::Env* env) const {
    return filter_.unreplayable().Check(env, name_);
  }
  // Fills `*result`. REQUIRES: Open returned OK.
  Status Judge(PreflightResult* result);

 private:
  bool IsEmpty(ColumnFamilyHandle* handle) const;
  bool IsSealed() const;
  Status JudgeFamilies();
  DroppedBatches CountDropped() const;

  const ReplicatedDBOptions& replication_;
  const std::string& name_;
  const PreflightInput& before_;
  MetaRecordsOnly filter_;
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamilyDescriptor> families_;  // those that are there
  std::vector<ColumnFamilyHandle*> handles_;      // of families_
  ColumnFamilyHandle* index_ = nullptr;
  ProvenanceFacts traces_;
  Opened records_;
  std::optional<SealRecord> seal_;
};

Status Look::Open(const rocksdb::DBOptions& options,
                  const std::vector<ColumnFamilyDescriptor>& families) {
  Marker marker;
  const Status read = ReadMarker(options.env, name_, &marker);
  if (read.ok()) traces_.marker = std::move(marker);
  if (!read.ok() && !read.IsNotFound()) return read;
  std::copy_if(families.begin(), families.end(), std::back_inserter(families_),
               [&](const ColumnFamilyDescriptor& family) {
                 return std::find(before_.names.begin(), before_.names.end(),
                                  family.name) != before_.names.end();
               });
  std::vector<ColumnFamilyDescriptor> all = families_;
  all.emplace_back(kIndexFamilyName,
                   IndexFamilyOptions(replication_, nullptr, nullptr));
  all.back().options.memtable_factory =
      std::make_shared<rocksdb::SkipListFactory>();
  rocksdb::DBOptions looking = ReadOnlyOptions(options, &filter_);
  if (traces_.loss != Loss::kNone) looking.wal_recovery_mode = kSalvageRecovery;
  // An opening for writing makes the directory; one for reading does not.
  if (!looking.wal_dir.empty() &&
      options.env->FileExists(looking.wal_dir).IsNotFound()) {
    looking.wal_dir = name_;
  }
  const Status status =
      OpenPlainForReadOnly(looking, name_, all, &handles_, &db_);
  if (!status.ok()) {
    handles_.clear();
    return status;
  }
  index_ = handles_.back();
  handles_.pop_back();
  return status;
}

bool Look::IsEmpty(ColumnFamilyHandle* handle) const {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  const std::unique_ptr<rocksdb::Iterator> iterator(
      db_->NewIterator(options, handle));
  iterator->SeekToFirst();
  return !iterator->Valid() && iterator->status().ok();
}

// Returns whether the last close was clean and nothing was written since.
bool Look::IsSealed() const {
  return seal_.has_value() && before_.manifest == seal_->manifest &&
         db_->GetLatestSequenceNumber() == seal_->sequence;
}

Status Look::Judge(PreflightResult* result) {
  Status status;
  traces_.has_index = !IsEmpty(index_);
  if (traces_.has_index) {
    status = ReadIndexRecords(db_.get(), index_, replication_, name_, &records_,
                              &traces_, &seal_);
  }
  std::string db_identity;
  if (status.ok()) status = db_->GetDbIdentity(db_identity);
  if (!status.ok()) return status;
  traces_.same_db_identity =
      records_.indexed.identity.db_identity == db_identity;
  result->provenance = rocksync::Judge(traces_);
  if (result->provenance != Provenance::kOwn) {
    status = CheckRepaired(db_.get(), name_);
    if (!status.ok()) return status;
  }
  status =
      CheckProvenance(result->provenance, replication_, before_.cloned, name_);
  if (status.ok()) result->dropped = CountDropped();
  const bool index_stays = result->provenance != Provenance::kPlain &&
                           result->provenance != Provenance::kIndexLost;
  return status.ok() && index_stays ? JudgeFamilies() : status;
}

Status Look::JudgeFamilies() {
  const Status status = CheckKnownFamilies(
      replication_, name_, records_.family_records, families_, handles_);
  // Entries that are in the log alone were not replayed.
  if (!status.ok() || !IsSealed() || !traces_.marker.has_value() ||
      !traces_.marker->index_in_tables) {
    return status;
  }
  const ElementHasher hasher(replication_.cluster_secret);
  const IndexReader reader(db_.get(), index_, &hasher,
                           records_.indexed.identity.home_id);
  // Nor was what the log has of a family: pairs that were deleted since their
  // table was written would look like pairs without entries. Opening::
  // LookForEntries looks at these once the log is replayed.
  std::vector<FamilyRecord> in_tables;
  std::copy_if(records_.family_records.begin(), records_.family_records.end(),
               std::back_inserter(in_tables), [this](const FamilyRecord& one) {
                 return filter_.AllIsInTables(one.id);
               });
  MissingEntries missing;
  return LookForMissingEntries(replication_, name_, reader, in_tables, handles_,
                               &missing);
}

// Counts the sound batches that RocksDB drops, in the log files that it needs.
// It will read them in the same way again; what does not read here will fail
// there.
DroppedBatches Look::CountDropped() const {
  // The clean close noted the log's files, which are compared.
  if (traces_.loss == Loss::kNone && IsSealed()) return {};
  rocksdb::Env* const env = db_->GetEnv();
  const rocksdb::DBOptions options = db_->GetDBOptions();
  const std::string wal_dir = options.wal_dir.empty() ? name_ : options.wal_dir;
  const bool ends_at_damage =
      options.wal_recovery_mode !=
      rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
  uint64_t least = 0;
  std::set<std::string> logs;
  if (!db_->GetIntProperty(rocksdb::DB::Properties::kMinLogNumberToKeep,
                           &least) ||
      !ListLogFiles(env, wal_dir, &logs).ok()) {
    return {};
  }
  DroppedBatches dropped;
  for (const std::string& log : logs) {
    const uint64_t number = LogNumber(log);
    if (number < least) continue;
    const uint64_t read = filter_.BatchesOf(number);
    SoundBatches sound;
    if (CountSoundBatches(env, wal_dir + "/" + log, number,
                          ends_at_damage ? read : 0, &sound)
            .ok()) {
      dropped[number] = sound.count > read ? sound.count - read : 0;
    }
  }
  return dropped;
}

}  // namespace

PreflightResult PreflightOpen(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name, const PreflightInput& before,
    const std::vector<ColumnFamilyDescriptor>& families) {
  PreflightResult result;
  // With this option RocksDB goes back to the latest state that it can read,
  // whichever that is.
  if (options.best_efforts_recovery) return result;
  const DirectoryLock lock(options.env, name);
  if (!lock.status().ok()) return result;
  Look look(replication, name, before, families);
  result.status = look.Open(options, families);
  if (const Status log = look.CheckLog(options.env); !log.ok()) {
    result.status = log;
  } else if (result.status.ok()) {
    result.status = look.Judge(&result);
  } else if (!result.status.IsCorruption()) {
    result.status = Status::OK();
  }
  return result;
}

}  // namespace rocksync
