#include "replication/store/open/look_ahead.h"

#include <algorithm>
#include <cstdarg>
#include <memory>
#include <optional>
#include <utility>

#include "replication/store/format/marker.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/format/rocksdb_version.h"
#include "replication/store/index/index_options.h"
#include "replication/store/index/index_reader.h"
#include "replication/store/open/index_records.h"
#include "replication/store/open/known_families.h"
#include "replication/store/open/opened.h"
#include "rocksdb/env.h"
#include "rocksdb/memtablerep.h"
#include "sketch/element/coding.h"
#include "sketch/element/sha256.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::DB;
using rocksdb::Status;

// RocksDB's lock of the directory, while nobody has the database open.
class Lock {
 public:
  Lock(rocksdb::Env* env, const std::string& name) : env_(env) {
    if (!env->LockFile(name + "/LOCK", &lock_).ok()) lock_ = nullptr;
  }
  ~Lock() {
    if (lock_ != nullptr) env_->UnlockFile(lock_).PermitUncheckedError();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  bool held() const { return lock_ != nullptr; }

 private:
  rocksdb::Env* const env_;
  rocksdb::FileLock* lock_ = nullptr;
};

class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

// The application's, without what of it would notice or be charged.
rocksdb::DBOptions OptionsToLook(rocksdb::DBOptions options) {
  constexpr int kOpenFiles = 64;  // RocksDB reads those when it opens
  options.info_log = std::make_shared<NoLog>();
  options.create_if_missing = false;
  options.create_missing_column_families = false;
  options.error_if_exists = false;
  options.listeners.clear();
  options.statistics.reset();
  options.write_buffer_manager.reset();
  options.db_write_buffer_size = 0;
  options.sst_file_manager.reset();
  options.row_cache.reset();
  options.wal_filter = nullptr;
  options.persist_stats_to_disk = false;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.max_open_files = options.max_open_files < 0
                               ? kOpenFiles
                               : std::min(options.max_open_files, kOpenFiles);
  return options;
}

class Look {
 public:
  Look(const ReplicatedDBOptions& replication, const std::string& name)
      : replication_(replication), name_(name) {}
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
              const std::vector<std::string>& names,
              const std::vector<ColumnFamilyDescriptor>& families);
  // After Open was OK.
  Status Judge(const std::string& manifest, bool cloned,
               Provenance* provenance);

 private:
  bool IsEmpty(ColumnFamilyHandle* handle) const;
  Status JudgeFamilies(const std::string& manifest);

  const ReplicatedDBOptions& replication_;
  const std::string& name_;
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamilyDescriptor> families_;  // that are there
  std::vector<ColumnFamilyHandle*> handles_;      // of these
  ColumnFamilyHandle* index_ = nullptr;
  Traces traces_;
  Opened records_;
  std::optional<SealRecord> seal_;
};

Status Look::Open(const rocksdb::DBOptions& options,
                  const std::vector<std::string>& names,
                  const std::vector<ColumnFamilyDescriptor>& families) {
  Marker marker;
  const Status read = ReadMarker(options.env, name_, &marker);
  if (read.ok()) traces_.marker = std::move(marker);
  if (!read.ok() && !read.IsNotFound()) return read;
  std::copy_if(families.begin(), families.end(), std::back_inserter(families_),
               [&](const ColumnFamilyDescriptor& family) {
                 return std::find(names.begin(), names.end(), family.name) !=
                        names.end();
               });
  std::vector<ColumnFamilyDescriptor> all = families_;
  all.emplace_back(kIndexFamilyName,
                   IndexFamilyOptions(replication_, nullptr, nullptr));
  all.back().options.memtable_factory =
      std::make_shared<rocksdb::SkipListFactory>();
  const Status status =
      OpenPlainForReadOnly(OptionsToLook(options), name_, all, &handles_, &db_);
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

Status Look::Judge(const std::string& manifest, bool cloned,
                   Provenance* provenance) {
  traces_.has_index = !IsEmpty(index_);
  Status status;
  if (traces_.has_index) {
    status = ReadIndexRecords(db_.get(), index_, replication_, name_, &records_,
                              &traces_, &seal_);
  }
  std::string db_identity;
  if (status.ok()) status = db_->GetDbIdentity(db_identity);
  if (!status.ok()) return status;
  traces_.same_db_identity =
      records_.indexed.identity.db_identity == db_identity;
  *provenance = rocksync::Judge(traces_);
  status = CheckProvenance(*provenance, replication_, cloned, name_);
  const bool index_stays = *provenance != Provenance::kPlain &&
                           *provenance != Provenance::kIndexLost;
  return status.ok() && index_stays ? JudgeFamilies(manifest) : status;
}

Status Look::JudgeFamilies(const std::string& manifest) {
  const Status status = CheckKnownFamilies(
      replication_, name_, records_.family_records, families_, handles_);
  const bool untouched = seal_.has_value() && manifest == seal_->manifest &&
                         db_->GetLatestSequenceNumber() == seal_->sequence;
  if (!status.ok() || !untouched) return status;
  const ElementHasher hasher(replication_.cluster_secret);
  const IndexReader reader(db_.get(), index_, &hasher,
                           records_.indexed.identity.home_id);
  MissingEntries missing;
  return LookForMissingEntries(replication_, name_, reader,
                               records_.family_records, handles_, &missing);
}

}  // namespace

std::string OpenedAs(const rocksdb::DBOptions& options,
                     const ReplicatedDBOptions& replication,
                     const std::string& name,
                     const std::vector<ColumnFamilyDescriptor>& families) {
  // RocksDB's; copied files may come with another one.
  std::string identity;
  rocksdb::ReadFileToString(options.env, name + "/IDENTITY", &identity)
      .PermitUncheckedError();
  std::string bytes;
  PutLengthPrefixed(&bytes, identity);
  PutLengthPrefixed(&bytes, replication.cluster_name);
  PutLengthPrefixed(&bytes, SecretCheck(replication.cluster_secret));
  PutFixed32(&bytes, static_cast<uint32_t>(replication.families.size()));
  for (const std::string& family : replication.families) {
    PutLengthPrefixed(&bytes, family);
  }
  for (const ColumnFamilyDescriptor& family : families) {
    PutLengthPrefixed(&bytes, family.name);
  }
  const Sha256Digest digest = Sha256({bytes});
  return std::string(AsPiece(digest).substr(0, kMarkBytes));
}

LookedAt LookAhead(const rocksdb::DBOptions& options,
                   const ReplicatedDBOptions& replication,
                   const std::string& name, const std::string& manifest,
                   const std::vector<std::string>& names,
                   const std::vector<ColumnFamilyDescriptor>& families,
                   bool cloned) {
  LookedAt result;
  // RocksDB goes back to the latest state that it can read, whichever that is.
  if (options.best_efforts_recovery) return result;
  const Lock lock(options.env, name);
  if (!lock.held()) return result;
  Look look(replication, name);
  if (!look.Open(options, names, families).ok()) return result;
  result.status = look.Judge(manifest, cloned, &result.provenance);
  return result;
}

}  // namespace rocksync
