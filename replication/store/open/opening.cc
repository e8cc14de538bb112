#include "replication/store/open/opening.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "replication/store/format/clone_record.h"
#include "replication/store/format/current_manifest.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/intended_id.h"
#include "replication/store/format/marker.h"
#include "replication/store/format/random_bits.h"
#include "replication/store/format/rocksdb_version.h"
#include "replication/store/index/index_options.h"
#include "replication/store/open/damaged_tables.h"
#include "replication/store/open/info_log.h"
#include "replication/store/open/known_families.h"
#include "replication/store/open/log_files.h"
#include "replication/store/open/provenance.h"
#include "replication/store/open/write_buffer_budget.h"
#include "replication/store/write/refusals.h"
#include "rocksdb/comparator.h"
#include "rocksdb/env.h"

namespace rocksync {
namespace {

rocksdb::Status Damaged(const std::string& record) {
  return rocksdb::Status::Corruption(
      "rocksync: the " + record + " record of the index is damaged",
      "replace this replica by an empty one, or run `rocksync detach` and "
      "adopt its data again");
}

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::DB;
using rocksdb::Slice;
using rocksdb::Status;

// For a MANIFEST, a WAL, and what RocksDB writes of the last one.
constexpr uint64_t kLeastRoomToOpen = uint64_t{2} << 20;

// One opening, step by step. Destroys what it opened unless it is released.
class Opening {
 public:
  Opening(const rocksdb::DBOptions& options,
          const ReplicatedDBOptions& replication, const std::string& name)
      : options_(options), replication_(replication), name_(name) {}
  ~Opening();

  Status Run(const std::vector<ColumnFamilyDescriptor>& column_families);
  void Release(std::vector<ColumnFamilyHandle*>* handles, Opened* opened);

 private:
  Status LookAround();
  Status LookForMarker();
  Status LookForClone();
  Status OpenDatabase(const std::vector<ColumnFamilyDescriptor>& families);
  Status ReadRecords();
  Status ReadRestOfRecords();
  Status JudgeProvenance();
  Status MakeIndex();
  bool Elsewhere() const;
  void SayThatItStaysItself() const;
  Status NewReplicaId(uint64_t* id) const;
  Status CheckIdentity();
  Status LookForForeignWrites();
  Status LookForEntries();
  Status NoteForeignFiles(const std::string& our_manifest);
  void NoteUntold();
  bool SealedFilesAreThere();
  Status RecordFamilies(const std::vector<ColumnFamilyDescriptor>& families);
  Status ReadDigests();
  Status WriteRecords();
  Status WriteMark();
  Status NoteMarks(std::vector<std::string> marks);

  // NotFound leaves `*record` alone and sets `*found` to false.
  template <typename Record>
  Status Read(std::string_view record_name, Record* record, bool* found);
  // NotFound: an index that lacks it is not whole.
  template <typename Record>
  Status Need(std::string_view record_name, Record* record);
  Status HasPairs(ColumnFamilyHandle* handle, bool* has);
  uint64_t LargestIndexSequence();

  rocksdb::DBOptions options_;
  const ReplicatedDBOptions& replication_;
  const std::string name_;

  bool has_database_ = false;
  bool has_index_ = false;  // the family
  std::string manifest_before_;
  std::string directory_;  // absolute
  std::string wal_dir_;    // absolute
  Traces traces_;
  std::optional<CloneRecord> clone_;  // of a clone that was never opened
  rocksdb::ColumnFamilyOptions index_options_;
  DB* db_ = nullptr;
  std::vector<ColumnFamilyHandle*> handles_;  // the application's
  ColumnFamilyHandle* index_ = nullptr;

  Opened opened_;
  bool fresh_index_ = true;
  bool renewed_ = false;  // opened as a new replica
  bool recheck_ = false;  // data and index may be of different moments
  std::set<uint32_t> lost_families_;  // of which the index knows nothing more
  bool has_seal_ = false;
  SealRecord seal_;
  bool foreign_ = false;
  bool changed_ = false;  // and something shows that data changed
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

void Opening::Release(std::vector<ColumnFamilyHandle*>* handles,
                      Opened* opened) {
  opened_.indexed.db = db_;
  opened_.indexed.index = index_;
  *handles = std::move(handles_);
  *opened = std::move(opened_);
  db_ = nullptr;
}

Status Opening::Run(const std::vector<ColumnFamilyDescriptor>& families) {
  opened_.indexed.hasher =
      std::make_unique<ElementHasher>(replication_.cluster_secret);
  opened_.completion =
      std::make_shared<HashCompletionFactory>(replication_.cluster_secret);
  Status status = LookAround();
  if (status.ok()) status = CheckLogCanBeSynced(options_, name_);
  if (status.ok()) status = OpenDatabase(families);
  if (status.ok()) status = ReadRecords();
  if (status.ok()) status = JudgeProvenance();
  if (status.ok()) {
    status = CheckKnownFamilies(replication_, name_, opened_.family_records,
                                families, handles_);
  }
  if (status.ok()) status = CheckIdentity();
  if (status.ok()) status = LookForForeignWrites();
  if (status.ok() && !fresh_index_ && !changed_) status = LookForEntries();
  if (recheck_) {
    // Nothing shows who wrote the pairs that disagree: all of them are
    // quarantined.
    foreign_ = true;
    last_known_sequence_ = UINT64_MAX;
  }
  if (status.ok()) status = RecordFamilies(families);
  if (status.ok()) status = ReadDigests();
  if (status.ok() && fresh_index_) status = MakeIndex();
  if (status.ok()) status = WriteMark();
  // Once the database is a replica of its own, the record says nothing more.
  if (status.ok() && clone_.has_value()) {
    status = RemoveCloneRecord(options_.env, name_);
  }
  // Taken up; or left by an opening that was interrupted here.
  if (status.ok()) status = RemoveIntendedId(options_.env, name_);
  return status;
}

Status Opening::LookAround() {
  directory_ = AbsolutePath(options_.env, name_);
  wal_dir_ = options_.wal_dir.empty()
                 ? directory_
                 : AbsolutePath(options_.env, options_.wal_dir);
  Status status = CurrentManifest(options_.env, name_, &manifest_before_);
  if (status.IsNotFound()) return CheckNothingIsThere(options_.env, name_);
  if (!status.ok()) return status;
  if (IsUnfinishedClone(manifest_before_)) return UnfinishedClone(name_);
  has_database_ = true;
  status = LookForClone();
  if (!status.ok()) return status;
  std::vector<std::string> names;
  status = DB::ListColumnFamilies(options_, name_, &names);
  if (!status.ok()) return status;
  has_index_ =
      std::find(names.begin(), names.end(), kIndexFamilyName) != names.end();
  status = LookForMarker();
  if (!status.ok()) return status;
  // Before RocksDB writes anything.
  if (!has_index_ && Judge(traces_) == Provenance::kIndexLost) {
    if (!replication_.adopt_after_index_loss) {
      return Refusal(Provenance::kIndexLost, name_);
    }
  } else if (!has_index_ && !replication_.adopt_existing) {
    return Status::InvalidArgument(
        "rocksync: " + name_ + " is a plain database",
        "set ReplicatedDBOptions::adopt_existing to take it over");
  }
  if (!traces_.marker.has_value()) return Status::OK();
  const bool may_be_lost = replication_.open_copy_as_new_replica ||
                           replication_.adopt_after_index_loss;
  return CheckLogIsThere(options_.env, *traces_.marker, directory_, wal_dir_,
                         may_be_lost);
}

Status Opening::LookForMarker() {
  Marker marker;
  const Status status = ReadMarker(options_.env, name_, &marker);
  traces_.marker.reset();
  if (status.ok()) traces_.marker = std::move(marker);
  return status.IsNotFound() ? Status::OK() : status;
}

Status Opening::LookForClone() {
  CloneRecord record;
  const Status status = ReadCloneRecord(options_.env, name_, &record);
  if (status.ok()) clone_ = record;
  return status.IsNotFound() ? Status::OK() : status;
}

Status Opening::OpenDatabase(
    const std::vector<ColumnFamilyDescriptor>& families) {
  std::vector<ColumnFamilyDescriptor> all = families;
  Status status = FitWriteBufferBudget(families.size(), &options_);
  opened_.indexed.directories = DirectoriesOf(options_, name_);
  if (status.ok() && replication_.min_free_bytes > 0) {
    status =
        CheckRoom(options_.env, opened_.indexed.directories, kLeastRoomToOpen,
                  "an opening writes that much; make room on that disk "
                  "and open again");
  }
  if (!status.ok()) return status;
  if (options_.info_log == nullptr) {
    options_.info_log = NewInfoLog(options_, name_);
  }
  // What a process that was killed left in its log may not be synced. RocksDB
  // reads it again, and unless it flushes it, a later loss of power takes it
  // and, since the log then ends there, all that was synced after it.
  options_.avoid_flush_during_recovery = false;
  opened_.indexed.memtable =
      NewIndexMemtable(replication_, options_.write_buffer_manager);
  index_options_ = IndexFamilyOptions(replication_, opened_.indexed.memtable,
                                      opened_.completion);
  if (has_index_) all.push_back({kIndexFamilyName, index_options_});
  opened_.files = std::make_shared<FileWatch>();
  options_.listeners.push_back(opened_.files);
  opened_.indexed.log = std::make_shared<LogWatch>();
  options_.listeners.push_back(opened_.indexed.log);
  std::unique_ptr<DB> opened;
  status = OpenPlain(options_, name_, all, &handles_, &opened);
  db_ = opened.release();
  if (!status.ok()) {
    handles_.clear();
    return status;
  }
  if (has_index_) {
    index_ = handles_.back();
    handles_.pop_back();
  }
  // Of a database that was not there, a marker says nothing: DestroyDB leaves
  // the file. With RocksDB's lock held nobody else changes it.
  return has_database_ ? LookForMarker() : status;
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

template <typename Record>
Status Opening::Need(std::string_view record_name, Record* record) {
  bool found = false;
  const Status status = Read(record_name, record, &found);
  if (status.ok() && !found) return Status::NotFound(Slice(record_name));
  return status;
}

Status Opening::ReadRecords() {
  if (!has_index_) return Status::OK();
  Status status = HasPairs(index_, &traces_.has_index);
  if (!status.ok() || !traces_.has_index) return status;
  std::string bytes;
  status =
      db_->Get(rocksdb::ReadOptions(), index_, MetaKey(kFormatRecord), &bytes);
  if (status.IsNotFound()) return Status::OK();
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
  ClusterRecord cluster;
  status = Need(kClusterRecord, &cluster);
  if (status.IsNotFound()) return Status::OK();
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
  status = ReadRestOfRecords();
  traces_.index_complete = status.ok();
  return status.IsNotFound() ? Status::OK() : status;
}

// NotFound: one is missing that every opening writes.
Status Opening::ReadRestOfRecords() {
  bool found = false;
  Status status = Need(kIdentityRecord, &opened_.indexed.identity);
  if (status.ok()) status = Need(kPastRecord, &opened_.indexed.past);
  if (status.ok()) status = Need(kPlaceRecord, &opened_.place);
  if (status.ok()) status = Need(kFamiliesRecord, &opened_.family_records);
  if (status.ok()) status = Need(kGcStateRecord, &opened_.gc);
  if (status.ok()) status = Read(kWorkRecord, &opened_.work, &found);
  if (status.ok()) status = Read(kForeignRecord, &opened_.foreign, &found);
  if (status.ok()) status = Read(kSealRecord, &seal_, &has_seal_);
  std::string bytes;
  const auto get = [&](std::string_view record) {
    return db_->Get(rocksdb::ReadOptions(), index_, MetaKey(record), &bytes);
  };
  if (status.ok()) status = get(kMarkRecord);
  if (status.ok() && !DecodeMark(bytes, &traces_.mark)) {
    status = Damaged("mark");
  }
  if (status.ok()) status = get(kLeaseRecord);
  if (status.ok() && !DecodeLease(bytes, &opened_.indexed.lease)) {
    status = Damaged("lease");
  }
  if (!status.ok()) return status;
  status = get(kSweptRecord);
  // Unknown: swept once more than need be.
  if (status.ok() && !DecodeSwept(bytes, &opened_.swept)) opened_.swept = 0;
  return status.IsNotFound() ? Status::OK() : status;
}

// Whose data are these? After this either the index is one to go on with, or
// there is none, or an empty one is to be made.
Status Opening::JudgeProvenance() {
  std::string db_identity;
  const Status status = db_->GetDbIdentity(db_identity);
  if (!status.ok()) return status;
  traces_.same_db_identity =
      opened_.indexed.identity.db_identity == db_identity;
  opened_.indexed.identity.db_identity = db_identity;
  const Provenance provenance = Judge(traces_);
  switch (provenance) {
    case Provenance::kPlain:
      break;
    case Provenance::kIndexLost:
      if (!replication_.adopt_after_index_loss) {
        return Refusal(provenance, name_);
      }
      break;
    case Provenance::kOwn:
      fresh_index_ = false;
      if (Elsewhere()) opened_.place.moved = true;
      if (replication_.open_copy_as_new_replica) {
        renewed_ = opened_.place.MayBeCopy();
        if (!renewed_) SayThatItStaysItself();
      }
      break;
    case Provenance::kCopy:
    case Provenance::kPutBack:
    case Provenance::kRepaired:
      if (!replication_.open_copy_as_new_replica && !clone_.has_value()) {
        return Refusal(provenance, name_);
      }
      fresh_index_ = false;
      renewed_ = true;
      // A checkpoint or backup is of one moment. Else a part may be newer.
      recheck_ = provenance != Provenance::kCopy;
      break;
  }
  if (!fresh_index_) return status;
  // What a damaged index said is not gone on with.
  opened_.indexed.identity = {};
  opened_.indexed.identity.db_identity = db_identity;
  opened_.indexed.past = {};
  opened_.place = {};
  opened_.family_records.clear();
  opened_.work = {};
  opened_.foreign.clear();
  opened_.gc = {};
  opened_.indexed.lease = 0;
  opened_.swept = 0;
  has_seal_ = false;
  return status;
}

// An index where there was none. The marker allows for both before anything is
// made, so that a crash leaves what can be made again.
Status Opening::MakeIndex() {
  Status status = NoteMarks({"", opened_.marker.marks.back()});
  if (status.ok() && has_index_ && traces_.has_index) {
    // The rest of one that is lost, or was being made.
    status = db_->DropColumnFamily(index_);
    db_->DestroyColumnFamilyHandle(index_).PermitUncheckedError();
    index_ = nullptr;
  }
  if (status.ok() && index_ == nullptr) {
    status = db_->CreateColumnFamily(index_options_, kIndexFamilyName, &index_);
  }
  return status;
}

// A directory that was copied as it is has the marker, too. It is at home where
// it was opened last, until its peers know better; the original may have been
// moved as well, so the application has to say that it is a copy.
bool Opening::Elsewhere() const {
  const PlaceRecord& place = opened_.place;
  return !place.directory.empty() && !directory_.empty() &&
         place.directory != directory_;
}

// Whoever leaves the option on must not get a new replica with each opening.
void Opening::SayThatItStaysItself() const {
  rocksdb::Warn(
      db_->GetDBOptions().info_log,
      "rocksync: open_copy_as_new_replica is ignored, this remains replica "
      "%016llx: nothing indicates that it is a copy (it lies where it was "
      "opened last, and no peer refused it). If it is one, for example of the "
      "same path on another machine, close it, remove the file %s in %s and "
      "open it again; otherwise remove the option",
      static_cast<unsigned long long>(opened_.indexed.identity.replica_id),
      kMarkerFileName, directory_.c_str());
}

Status Opening::NewReplicaId(uint64_t* id) const {
  if (renewed_ && clone_.has_value()) {
    *id = clone_->replica_id;
    return Status::OK();
  }
  const Status status = ReadIntendedId(options_.env, name_, id);
  if (!status.IsNotFound()) return status;
  *id = RandomBits();
  return Status::OK();
}

Status Opening::CheckIdentity() {
  IdentityRecord* const identity = &opened_.indexed.identity;
  if (fresh_index_ || renewed_) {
    const Status status = NewReplicaId(&identity->replica_id);
    if (!status.ok()) return status;
  }
  if (fresh_index_) {
    identity->home_id = identity->replica_id;
    opened_.indexed.past = {.since = 0};
  } else if (renewed_) {
    identity->incarnation = 0;
    opened_.indexed.past = {.since = 0};
    opened_.place = {};
    opened_.gc = opened_.gc.AsNewReplica();
  } else if (identity->incarnation > opened_.indexed.past.since) {
    Append({identity->incarnation, identity->incarnation_nonce},
           opened_.indexed.lease, &opened_.indexed.past);
  }
  opened_.place.directory = directory_;
  ++identity->incarnation;
  identity->incarnation_nonce = RandomBits();
  opened_.marker = {directory_, wal_dir_, {NewMark()}};
  return Status::OK();
}

uint64_t Opening::LargestIndexSequence() {
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
    // Files may come and go without a sequence number that tells of it. An
    // opening that was refused, or interrupted, only begins a MANIFEST.
    last_known_sequence_ = seal_.sequence;
    foreign_ = latest != seal_.sequence;
    if (foreign_ || manifest_before_ != seal_.manifest) {
      const Status status = NoteForeignFiles(seal_.manifest);
      if (!status.ok()) return status;
      foreign_ = foreign_ || !opened_.foreign.empty() || !SealedFilesAreThere();
    }
  } else if (opened_.indexed.identity.manifest != manifest_before_) {
    // Not closed cleanly, and opened by somebody since (or the MANIFEST was
    // rolled over, then the check below finds nothing).
    last_known_sequence_ = LargestIndexSequence();
    foreign_ = latest != last_known_sequence_;
    const Status status = NoteForeignFiles(opened_.indexed.identity.manifest);
    if (!status.ok()) return status;
    foreign_ = foreign_ || !opened_.foreign.empty();
  }
  changed_ =
      foreign_ && (latest != last_known_sequence_ || !opened_.foreign.empty());
  const bool unfinished =
      opened_.work.index_pass && opened_.work.sealed_sequence != UINT64_MAX;
  // Where data and index may be of different moments, nothing of this holds.
  const bool written = foreign_ && latest != last_known_sequence_;
  if ((written || unfinished) && !recheck_) NoteUntold();
  if (foreign_) {
    rocksdb::Warn(
        db_->GetDBOptions().info_log,
        "rocksync: the database was written to by a program that does not "
        "use rocksync, after sequence number %llu; re-checking",
        static_cast<unsigned long long>(last_known_sequence_));
  }
  return Status::OK();
}

// Somebody wrote. Compactions, theirs or ours while all is compared, may have
// taken away the sequence numbers of what they wrote, and what they deleted: so
// what has none any more, and is not what the index says, counts as theirs. An
// acknowledged write is not reverted for want of a number; corruption in a pair
// without one cannot be told from it.
void Opening::NoteUntold() {
  for (ColumnFamilyHandle* handle : handles_) {
    const bool noted =
        std::any_of(opened_.foreign.begin(), opened_.foreign.end(),
                    [handle](const ForeignRange& range) {
                      return range.untold && range.family_id == handle->GetID();
                    });
    if (noted || !IsReplicatedName(replication_, handle->GetName())) continue;
    ForeignRange range;
    range.family_id = handle->GetID();
    range.came = range.untold = true;
    opened_.foreign.push_back(std::move(range));
  }
}

bool Opening::SealedFilesAreThere() {
  std::vector<ColumnFamilyHandle*> families;
  for (ColumnFamilyHandle* handle : handles_) {
    // Of those that the seal speaks of.
    const bool sealed = std::any_of(
        opened_.family_records.begin(), opened_.family_records.end(),
        [&](const FamilyRecord& r) { return r.id == handle->GetID(); });
    if (sealed) families.push_back(handle);
  }
  uint64_t largest = 0;
  return FilesOf(db_, families, seal_.last_file, &largest) == seal_.files;
}

// The ranges of keys of replicated families whose pairs came in files that
// somebody ingested since `our_manifest` was in use: the pairs may have no
// sequence number to tell of it.
Status Opening::NoteForeignFiles(const std::string& our_manifest) {
  const uint64_t our_last = ManifestNumber(our_manifest);
  for (ColumnFamilyHandle* handle : handles_) {
    if (!IsReplicatedName(replication_, handle->GetName())) continue;
    rocksdb::TablePropertiesCollection tables;
    const Status status = db_->GetPropertiesOfAllTables(handle, &tables);
    if (!status.ok()) return status;
    rocksdb::ColumnFamilyMetaData metadata;
    db_->GetColumnFamilyMetaData(handle, &metadata);
    for (const rocksdb::LevelMetaData& level : metadata.levels) {
      for (const rocksdb::SstFileMetaData& file : level.files) {
        const auto table = tables.find(file.db_path + file.name);
        if (file.file_number <= our_last || table == tables.end() ||
            table->second->user_collected_properties.count(
                "rocksdb.external_sst_file.version") == 0) {
          continue;
        }
        if (opened_.foreign.size() >= kMaxForeignRanges / 2 &&
            opened_.foreign.back().family_id == handle->GetID()) {
          // Too many: the last range grows to hold this one.
          const rocksdb::Comparator* const order = handle->GetComparator();
          ForeignRange* const last = &opened_.foreign.back();
          if (order->Compare(file.smallestkey, last->smallest) < 0) {
            last->smallest = file.smallestkey;
          }
          if (order->Compare(last->largest, file.largestkey) < 0) {
            last->largest = file.largestkey;
          }
          continue;
        }
        opened_.foreign.push_back({handle->GetID(), /*came=*/true,
                                   file.smallestkey, file.largestkey});
      }
    }
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
  if (iterator->status().ok()) return Status::OK();
  // A value that does not read (a blob file that is lost) is a pair's.
  std::vector<rocksdb::KeyVersion> first;
  *has =
      KeyVersionsFrom(db_, handle, nullptr, 1, &first).ok() && !first.empty();
  return *has ? Status::OK() : iterator->status();
}

Status Opening::LookForEntries() {
  const IndexReader reader(db_, index_, opened_.indexed.hasher.get(),
                           opened_.indexed.identity.home_id);
  MissingEntries missing;
  const Status status = LookForMissingEntries(
      replication_, name_, reader, opened_.family_records, handles_, &missing);
  if (missing.any) {
    recheck_ = true;
    rocksdb::Warn(db_->GetDBOptions().info_log,
                  "rocksync: pairs without an index entry; re-checking");
  }
  lost_families_ = std::move(missing.lost_families);
  return status;
}

Status Opening::RecordFamilies(
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
    // One that was to be dropped and is there was not.
    if (known != before.end() && !lost_families_.contains(family.id)) {
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
      rocksdb::Warn(db_->GetDBOptions().info_log,
                    "rocksync: ReplicatedDBOptions::families names '%s', and "
                    "there is no such column family (yet); a typo leaves the "
                    "family that is meant unreplicated",
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
  LeafQuarantined quarantined;
  std::string bytes;
  const Status status = db_->Get(rocksdb::ReadOptions(), index_,
                                 MetaKey(kQuarantinedRecord), &bytes);
  if (!status.ok() || !DecodeQuarantined(bytes, kLeafCount, &quarantined)) {
    return Status::OK();
  }
  opened_.leaves = std::move(leaves);
  opened_.tombstones = std::move(tombstones);
  opened_.quarantined = std::move(quarantined);
  return Status::OK();
}

Status Opening::WriteRecords() {
  Status status =
      CurrentManifest(options_.env, name_, &opened_.indexed.identity.manifest);
  if (!status.ok()) return status;
  rocksdb::WriteBatch batch;
  status = batch.Put(index_, MetaKey(kFormatRecord), EncodeFormat());
  const auto put = [&](const std::string& key, const std::string& value) {
    if (status.ok()) status = batch.Put(index_, key, value);
  };
  put(MetaKey(kClusterRecord),
      Encode(ClusterRecord{replication_.cluster_name,
                           SecretCheck(replication_.cluster_secret)}));
  put(MetaKey(kIdentityRecord), Encode(opened_.indexed.identity));
  put(MetaKey(kPastRecord), Encode(opened_.indexed.past));
  put(MetaKey(kPlaceRecord), Encode(opened_.place));
  put(MetaKey(kFamiliesRecord), Encode(opened_.family_records));
  put(MetaKey(kWorkRecord), Encode(opened_.work));
  put(MetaKey(kGcStateRecord), Encode(opened_.gc));
  put(MetaKey(kLeaseRecord), EncodeLease(opened_.indexed.lease));
  put(MetaKey(kMarkRecord), EncodeMark(opened_.marker.marks.back()));
  if (!opened_.foreign.empty()) {
    put(MetaKey(kForeignRecord), Encode(opened_.foreign));
  }
  if (status.ok()) status = batch.Delete(index_, MetaKey(kSealRecord));
  rocksdb::WriteOptions synced;
  synced.sync = true;
  if (status.ok()) status = db_->Write(synced, &batch);
  return status;
}

Status Opening::NoteMarks(std::vector<std::string> marks) {
  Marker marker = opened_.marker;
  marker.marks = std::move(marks);
  return WriteMarker(options_.env, name_, marker);
}

// The order of marker.h.
Status Opening::WriteMark() {
  const std::string mark = opened_.marker.marks.back();
  // Of a new replica the marker must not list the mark of its original: a crash
  // between the two would leave a copy that passes for it. As it is, it would
  // leave one that is refused again.
  std::vector<std::string> marks = {mark};
  if (!renewed_) marks.insert(marks.begin(), fresh_index_ ? "" : traces_.mark);
  Status status = NoteMarks(std::move(marks));
  if (status.ok()) status = WriteRecords();
  if (status.ok() && !renewed_) status = NoteMarks({mark});
  return status;
}

}  // namespace

Status OpenIndexed(const rocksdb::DBOptions& options,
                   const ReplicatedDBOptions& replication,
                   const std::string& name,
                   const std::vector<ColumnFamilyDescriptor>& column_families,
                   std::vector<ColumnFamilyHandle*>* handles, Opened* opened) {
  Status status = CheckReplicationOptions(replication);
  if (status.ok()) status = CheckDBOptions(options);
  for (const ColumnFamilyDescriptor& family : column_families) {
    if (!status.ok()) return status;
    status = CheckFamilyOptions(replication, family.name, family.options);
  }
  size_t replicated = 0;
  for (const ColumnFamilyDescriptor& family : column_families) {
    replicated += IsReplicatedName(replication, family.name) ? 1 : 0;
  }
  if (status.ok()) status = CheckFamilyCount(replicated);
  if (!status.ok()) return status;
  Opening opening(options, replication, name);
  status = opening.Run(column_families);
  if (!status.ok()) return NameDamagedTable(status, options.env, name);
  opening.Release(handles, opened);
  return status;
}

}  // namespace rocksync
