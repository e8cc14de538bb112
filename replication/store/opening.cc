#include "replication/store/opening.h"

#include <algorithm>
#include <random>
#include <utility>

#include "replication/store/index_key.h"
#include "replication/store/index_options.h"
#include "replication/store/refusals.h"
#include "rocksdb/env.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::DB;
using rocksdb::Slice;
using rocksdb::Status;

uint64_t RandomBits() {
  std::random_device device;
  uint64_t bits = 0;
  while (bits == 0) bits = (uint64_t{device()} << 32) | device();
  return bits;
}

// The MANIFEST that the database uses. Every opening for writing starts a new
// one, so it tells whether somebody opened the database since.
std::string CurrentManifest(rocksdb::Env* env, const std::string& name) {
  std::string manifest;
  if (!rocksdb::ReadFileToString(env, name + "/CURRENT", &manifest).ok()) {
    return "";
  }
  return manifest;
}

// Empty if the Env does not know.
std::string AbsolutePath(rocksdb::Env* env, const std::string& name) {
  std::string path;
  if (!env->GetAbsolutePath(name, &path).ok()) return "";
  return path;
}

// One opening, step by step. Destroys what it opened unless it is released.
class Opening {
 public:
  Opening(const rocksdb::DBOptions& options,
          const ReplicatedDBOptions& replication, const std::string& name)
      : options_(options), replication_(replication), name_(name) {}
  ~Opening();

  Status Run(const std::vector<ColumnFamilyDescriptor>& column_families);
  void Release(std::vector<ColumnFamilyHandle*>* handles, DB** db,
               std::unique_ptr<Store>* store);

 private:
  Status LookAround();
  Status OpenDatabase(const std::vector<ColumnFamilyDescriptor>& families);
  Status ReadRecords();
  bool MayBePlainCopy(const std::string& directory) const;
  Status CheckIdentity();
  Status LookForForeignWrites();
  Status SettleFamilies(const std::vector<ColumnFamilyDescriptor>& families);
  Status ReadDigests();
  Status WriteRecords();

  // NotFound leaves `*record` alone and sets `*found` to false.
  template <typename Record>
  Status Read(std::string_view record_name, Record* record, bool* found);
  Status HasPairs(ColumnFamilyHandle* handle, bool* has);
  uint64_t LargestIndexSequence();

  rocksdb::DBOptions options_;
  const ReplicatedDBOptions& replication_;
  const std::string name_;

  bool has_database_ = false;
  bool has_index_ = false;
  std::string manifest_before_;
  DB* db_ = nullptr;
  std::vector<ColumnFamilyHandle*> handles_;  // the application's
  ColumnFamilyHandle* index_ = nullptr;

  Store::Opened opened_;
  bool fresh_index_ = true;
  bool has_seal_ = false;
  SealRecord seal_;
  bool foreign_ = false;
  uint64_t last_known_sequence_ = 0;
};

Opening::~Opening() {
  if (db_ == nullptr) return;
  opened_.families.clear();
  opened_.other_families.clear();
  for (ColumnFamilyHandle* handle : handles_) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  if (index_ != nullptr) {
    db_->DestroyColumnFamilyHandle(index_).PermitUncheckedError();
  }
  delete db_;
}

void Opening::Release(std::vector<ColumnFamilyHandle*>* handles, DB** db,
                      std::unique_ptr<Store>* store) {
  opened_.db = db_;
  opened_.index = index_;
  *handles = std::move(handles_);
  *db = db_;
  *store = std::make_unique<Store>(replication_, std::move(opened_));
  db_ = nullptr;
}

Status Opening::Run(const std::vector<ColumnFamilyDescriptor>& families) {
  opened_.hasher = std::make_unique<ElementHasher>(replication_.cluster_secret);
  opened_.completion =
      std::make_shared<HashCompletionFactory>(opened_.hasher.get());
  Status status = LookAround();
  if (status.ok()) status = OpenDatabase(families);
  if (status.ok()) status = ReadRecords();
  if (status.ok()) status = CheckIdentity();
  if (status.ok()) status = LookForForeignWrites();
  if (status.ok()) status = SettleFamilies(families);
  if (status.ok()) status = ReadDigests();
  if (status.ok()) status = WriteRecords();
  return status;
}

Status Opening::LookAround() {
  manifest_before_ = CurrentManifest(options_.env, name_);
  has_database_ = !manifest_before_.empty();
  if (!has_database_) return Status::OK();
  std::vector<std::string> names;
  const Status status = DB::ListColumnFamilies(options_, name_, &names);
  if (!status.ok()) return status;
  has_index_ =
      std::find(names.begin(), names.end(), kIndexFamilyName) != names.end();
  if (!has_index_ && !replication_.adopt_existing) {
    return Status::InvalidArgument(
        "rocksync: " + name_ + " is a plain database",
        "set ReplicatedDBOptions::adopt_existing to take it over");
  }
  return Status::OK();
}

Status Opening::OpenDatabase(
    const std::vector<ColumnFamilyDescriptor>& families) {
  std::vector<ColumnFamilyDescriptor> all = families;
  if (options_.write_buffer_manager == nullptr &&
      options_.db_write_buffer_size != 0) {
    // As RocksDB would; the index's memtable has to know it too.
    options_.write_buffer_manager =
        std::make_shared<rocksdb::WriteBufferManager>(
            options_.db_write_buffer_size);
  }
  opened_.memtable =
      NewIndexMemtable(replication_, options_.write_buffer_manager);
  const rocksdb::ColumnFamilyOptions index_options =
      IndexFamilyOptions(replication_, opened_.memtable, opened_.completion);
  if (has_index_) all.push_back({kIndexFamilyName, index_options});
  Status status = DB::Open(options_, name_, all, &handles_, &db_);
  if (!status.ok()) {
    db_ = nullptr;
    handles_.clear();
    return status;
  }
  if (has_index_) {
    index_ = handles_.back();
    handles_.pop_back();
    return status;
  }
  return db_->CreateColumnFamily(index_options, kIndexFamilyName, &index_);
}

template <typename Record>
Status Opening::Read(std::string_view record_name, Record* record,
                     bool* found) {
  std::string bytes;
  const Status status =
      db_->Get(rocksdb::ReadOptions(), index_, MetaKey(record_name), &bytes);
  *found = status.ok();
  if (status.IsNotFound()) return Status::OK();
  if (!status.ok()) return status;
  if (!Decode(bytes, record)) {
    return Status::Corruption("rocksync: the index's record '" +
                                  std::string(record_name) +
                                  "' is damaged or of a newer format",
                              "open with the version that wrote it, or run "
                              "`rocksync detach` and adopt the data anew");
  }
  return status;
}

Status Opening::ReadRecords() {
  std::string bytes;
  Status status =
      db_->Get(rocksdb::ReadOptions(), index_, MetaKey(kFormatRecord), &bytes);
  if (status.IsNotFound()) return Status::OK();  // a fresh index
  if (!status.ok()) return status;
  uint8_t format = 0;
  if (!DecodeFormat(bytes, &format) || format != kIndexFormat) {
    return Status::NotSupported(
        "rocksync: the index in " + name_ + " has format " +
            std::to_string(format) + ", this version knows " +
            std::to_string(kIndexFormat),
        "use a newer version of the library, or run `rocksync detach` and "
        "adopt the data anew");
  }
  fresh_index_ = false;

  ClusterRecord cluster;
  bool found = false;
  status = Read(kClusterRecord, &cluster, &found);
  if (!status.ok()) return status;
  if (cluster.name != replication_.cluster_name) {
    return Status::InvalidArgument(
        "rocksync: " + name_ + " belongs to cluster '" + cluster.name +
            "', not '" + replication_.cluster_name + "'",
        "correct cluster_name, or detach the database first");
  }
  if (cluster.secret_check != SecretCheck(replication_.cluster_secret)) {
    return Status::InvalidArgument(
        "rocksync: cluster_secret is not the one that " + name_ +
            " was indexed with",
        "correct it, or detach the database first");
  }
  status = Read(kIdentityRecord, &opened_.identity, &found);
  if (status.ok() && !found) {
    status = Status::Corruption("rocksync: the index has no identity record");
  }
  if (status.ok()) {
    // Written down by older versions: not at all.
    opened_.past.since = opened_.identity.incarnation;
    status = Read(kPastRecord, &opened_.past, &found);
  }
  if (status.ok()) status = Read(kPlaceRecord, &opened_.place, &found);
  if (status.ok()) {
    status = Read(kFamiliesRecord, &opened_.family_records, &found);
  }
  if (status.ok()) status = Read(kWorkRecord, &opened_.work, &found);
  if (status.ok()) status = Read(kSealRecord, &seal_, &has_seal_);
  if (status.ok())
    status = Read(kForgettingRecord, &opened_.forgetting, &found);
  if (!status.ok()) return status;
  status =
      db_->Get(rocksdb::ReadOptions(), index_, MetaKey(kSweptRecord), &bytes);
  // Unknown: swept once more than need be.
  if (status.ok() && !DecodeSwept(bytes, &opened_.swept)) opened_.swept = 0;
  status =
      db_->Get(rocksdb::ReadOptions(), index_, MetaKey(kLeaseRecord), &bytes);
  if (status.IsNotFound()) return Status::OK();
  if (status.ok() && !DecodeLease(bytes, &opened_.lease)) {
    status = Status::Corruption("rocksync: the lease record is damaged");
  }
  return status;
}

// A checkpoint and a restored backup have a DB identity of their own. A plain
// copy has not: it is at home where it was opened last, until its peers know
// better; the original may have been moved too, so the application has to say
// that it is a copy.
bool Opening::MayBePlainCopy(const std::string& directory) const {
  const PlaceRecord& place = opened_.place;
  const bool elsewhere = !place.directory.empty() && !directory.empty() &&
                         place.directory != directory;
  return elsewhere || place.superseded;
}

Status Opening::CheckIdentity() {
  IdentityRecord* const identity = &opened_.identity;
  std::string db_identity;
  const Status status = db_->GetDbIdentity(db_identity);
  if (!status.ok()) return status;
  const std::string directory = AbsolutePath(options_.env, name_);
  const bool may_renew = replication_.open_copy_as_new_replica;
  const bool copy = identity->db_identity != db_identity;
  if (fresh_index_) {
    identity->replica_id = RandomBits();
    identity->home_id = identity->replica_id;
    opened_.past = {.since = 0};
  } else if (copy && !may_renew) {
    return Status::Aborted(
        "rocksync: " + name_ +
            " is a copy of another replica (a checkpoint or a restored "
            "backup)",
        "set ReplicatedDBOptions::open_copy_as_new_replica to open it as a "
        "new replica with an identity of its own");
  } else if (copy || (may_renew && MayBePlainCopy(directory))) {
    identity->replica_id = RandomBits();
    identity->incarnation = 0;
    opened_.past = {.since = 0};
    opened_.place.superseded = false;
    // A new replica is in no member list. What it lacks is forgotten still.
    // With the epoch, or those who meet it forget in which one they got there,
    // and no longer recognise an older state of a member's disk.
    const Horizon horizon = HorizonOf(opened_.forgetting);
    opened_.forgetting = {};
    opened_.forgetting.horizon = horizon.time;
    opened_.forgetting.horizon_epoch = horizon.epoch;
  } else if (identity->incarnation > opened_.past.since) {
    Append({identity->incarnation, identity->incarnation_nonce}, opened_.lease,
           &opened_.past);
  }
  opened_.place.directory = directory;
  ++identity->incarnation;
  identity->incarnation_nonce = RandomBits();
  identity->db_identity = db_identity;
  return Status::OK();
}

uint64_t Opening::LargestIndexSequence() {
  if (options_.avoid_flush_during_recovery) {
    db_->Flush(rocksdb::FlushOptions(), index_).PermitUncheckedError();
  }
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  uint64_t largest = 0;
  for (const rocksdb::LiveFileMetaData& file : files) {
    if (file.column_family_name == kIndexFamilyName) {
      largest = std::max(largest, file.largest_seqno);
    }
  }
  return largest;
}

// Every write of ours ends in the index, a clean close leaves a seal.
Status Opening::LookForForeignWrites() {
  if (fresh_index_) return Status::OK();
  const uint64_t latest = db_->GetLatestSequenceNumber();
  if (has_seal_) {
    foreign_ = latest != seal_.sequence;
    last_known_sequence_ = seal_.sequence;
  } else if (opened_.identity.manifest != manifest_before_) {
    // Not closed cleanly, and opened by somebody since (or the MANIFEST was
    // rolled over, then the check below finds nothing).
    last_known_sequence_ = LargestIndexSequence();
    foreign_ = latest != last_known_sequence_;
  }
  if (foreign_) {
    rocksdb::Warn(db_->GetDBOptions().info_log,
                  "rocksync: written to without the library after sequence "
                  "number %llu; re-checking",
                  static_cast<unsigned long long>(last_known_sequence_));
  }
  return Status::OK();
}

Status Opening::HasPairs(ColumnFamilyHandle* handle, bool* has) {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  const std::unique_ptr<rocksdb::Iterator> iterator(
      db_->NewIterator(options, handle));
  iterator->SeekToFirst();
  *has = iterator->Valid();
  return iterator->status();
}

Status Opening::SettleFamilies(
    const std::vector<ColumnFamilyDescriptor>& families) {
  const std::vector<FamilyRecord> before = std::move(opened_.family_records);
  opened_.family_records.clear();
  for (size_t i = 0; i < families.size(); ++i) {
    Family family;
    family.id = handles_[i]->GetID();
    family.name = families[i].name;
    family.shared = std::make_shared<SharedHandle>(db_, handles_[i]);
    if (!IsReplicatedName(replication_, family.name)) {
      opened_.other_families.push_back(std::move(family));
      continue;
    }
    family.merge_operator = families[i].options.merge_operator;
    FamilyRecord record{family.id, family.name, 0};
    const auto known = std::find_if(
        before.begin(), before.end(), [&](const FamilyRecord& candidate) {
          return candidate.id == family.id && candidate.name == family.name;
        });
    if (known != before.end()) {
      record.work = known->work;
      if (foreign_) record.work |= kFamilyChecking;
    } else {
      bool has_pairs = false;
      const Status status = HasPairs(handles_[i], &has_pairs);
      if (!status.ok()) return status;
      if (has_pairs) record.work = kFamilyAdopting;
    }
    opened_.family_records.push_back(std::move(record));
    opened_.families.push_back(std::move(family));
  }
  for (const std::string& name : replication_.families) {
    const bool there = std::any_of(
        families.begin(), families.end(),
        [&](const ColumnFamilyDescriptor& f) { return f.name == name; });
    if (!there) {
      rocksdb::Info(db_->GetDBOptions().info_log,
                    "rocksync: replicated family %s is not there (yet)",
                    name.c_str());
    }
  }

  WorkRecord* const work = &opened_.work;
  for (const FamilyRecord& record : before) {
    const bool stays = std::any_of(
        opened_.family_records.begin(), opened_.family_records.end(),
        [&](const FamilyRecord& now) { return now.id == record.id; });
    if (!stays) work->purge = true;
  }
  if (foreign_) {
    // An unfinished check goes on from the older bound, over everything.
    work->sealed_sequence =
        work->index_pass ? std::min(work->sealed_sequence, last_known_sequence_)
                         : last_known_sequence_;
    work->index_pass = true;
    work->step = 0;
    work->cursor.clear();
    work->pairs_read = 0;
  }
  return Status::OK();
}

Status Opening::ReadDigests() {
  const bool work_left =
      opened_.work.purge || opened_.work.index_pass ||
      std::any_of(opened_.family_records.begin(), opened_.family_records.end(),
                  [](const FamilyRecord& record) { return record.work != 0; });
  if (fresh_index_ && !work_left) {
    opened_.leaves = std::make_unique<LeafDigests::Leaves>(kLeafCount);
    opened_.tombstones.resize(kLeafCount);
    return Status::OK();
  }
  if (work_left || foreign_ || !has_seal_ || !seal_.has_digests) {
    return Status::OK();
  }
  auto leaves = std::make_unique<LeafDigests::Leaves>(kLeafCount);
  LeafDigests::Tombstones tombstones(kLeafCount);
  constexpr size_t kPerChunk = kLeafCount / kDigestChunks;
  for (uint32_t chunk = 0; chunk < kDigestChunks; ++chunk) {
    std::string bytes;
    const Status status =
        db_->Get(rocksdb::ReadOptions(), index_, DigestKey(chunk), &bytes);
    // Digests can be had again from the entries.
    if (!status.ok() ||
        !DecodeDigests(bytes, &(*leaves)[chunk * kPerChunk], kPerChunk)) {
      return Status::OK();
    }
    const Status counted =
        db_->Get(rocksdb::ReadOptions(), index_, TombstonesKey(chunk), &bytes);
    if (!counted.ok() ||
        !DecodeTombstones(bytes, &tombstones[chunk * kPerChunk], kPerChunk)) {
      return Status::OK();
    }
  }
  opened_.leaves = std::move(leaves);
  opened_.tombstones = std::move(tombstones);
  return Status::OK();
}

Status Opening::WriteRecords() {
  opened_.identity.manifest = CurrentManifest(options_.env, name_);
  rocksdb::WriteBatch batch;
  Status status = batch.Put(index_, MetaKey(kFormatRecord), EncodeFormat());
  const auto put = [&](const std::string& key, const std::string& value) {
    if (status.ok()) status = batch.Put(index_, key, value);
  };
  put(MetaKey(kClusterRecord),
      Encode(ClusterRecord{replication_.cluster_name,
                           SecretCheck(replication_.cluster_secret)}));
  put(MetaKey(kIdentityRecord), Encode(opened_.identity));
  put(MetaKey(kPastRecord), Encode(opened_.past));
  put(MetaKey(kPlaceRecord), Encode(opened_.place));
  put(MetaKey(kFamiliesRecord), Encode(opened_.family_records));
  put(MetaKey(kWorkRecord), Encode(opened_.work));
  put(MetaKey(kForgettingRecord), Encode(opened_.forgetting));
  if (status.ok()) status = batch.Delete(index_, MetaKey(kSealRecord));
  rocksdb::WriteOptions synced;
  synced.sync = true;
  if (status.ok()) status = db_->Write(synced, &batch);
  return status;
}

}  // namespace

Status OpenStore(const rocksdb::DBOptions& options,
                 const ReplicatedDBOptions& replication,
                 const std::string& name,
                 const std::vector<ColumnFamilyDescriptor>& column_families,
                 std::vector<ColumnFamilyHandle*>* handles, DB** db,
                 std::unique_ptr<Store>* store) {
  Status status = CheckReplicationOptions(replication);
  if (status.ok()) status = CheckDBOptions(options);
  for (const ColumnFamilyDescriptor& family : column_families) {
    if (!status.ok()) return status;
    status = CheckFamilyOptions(replication, family.name, family.options);
  }
  if (!status.ok()) return status;
  Opening opening(options, replication, name);
  status = opening.Run(column_families);
  if (status.ok()) opening.Release(handles, db, store);
  return status;
}

}  // namespace rocksync
