#include "replication/store/open/opening.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "replication/base/directories.h"
#include "replication/base/forked.h"
#include "replication/base/random_bits.h"
#include "replication/base/rocksdb_errors.h"
#include "replication/base/rocksdb_version.h"
#include "replication/store/directory/directory_lock.h"
#include "replication/store/directory/make_directory.h"
#include "replication/store/format/clone_record.h"
#include "replication/store/format/current_manifest.h"
#include "replication/store/format/dropped_batches.h"
#include "replication/store/format/intended_id.h"
#include "replication/store/format/marker.h"
#include "replication/store/index/index_options.h"
#include "replication/store/open/all_families.h"
#include "replication/store/open/closed_writes.h"
#include "replication/store/open/damaged_files.h"
#include "replication/store/open/directory_state.h"
#include "replication/store/open/family_planner.h"
#include "replication/store/open/files_left.h"
#include "replication/store/open/index_records.h"
#include "replication/store/open/info_log.h"
#include "replication/store/open/known_families.h"
#include "replication/store/open/log_files.h"
#include "replication/store/open/provenance.h"
#include "replication/store/open/salvage_log.h"
#include "replication/store/open/shared_paths.h"
#include "replication/store/open/unreplayable_records.h"
#include "replication/store/open/write_buffer_budget.h"
#include "replication/store/write/refusals.h"
#include "rocksdb/env.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::DB;
using rocksdb::Status;

Status NameNotOpened(const Status& status, const std::string& name) {
  const char* const who = WhoHasItOpen(status);
  return who == nullptr ? NameCannotBeMade(status, name)
                        : Status::IOError("rocksync: " + name + " " + who,
                                          status.ToString());
}

// Does one opening, step by step. Destroys what it opened unless it is
// released.
class Opening {
 public:
  Opening(const rocksdb::DBOptions& options,
          const ReplicatedDBOptions& replication, const std::string& name,
          const Predecessor* predecessor)
      : options_(options),
        replication_(replication),
        name_(name),
        predecessor_(predecessor) {}
  ~Opening();

  Status Run(const std::vector<ColumnFamilyDescriptor>& families);
  void Release(std::vector<ColumnFamilyHandle*>* handles, Opened* opened);

 private:
  Status BeginSalvage();
  Status OpenDatabase(const std::vector<ColumnFamilyDescriptor>& families);
  // Reads what has to be known of the open database, and then writes to it.
  Status TakeUp(const std::vector<ColumnFamilyDescriptor>& families);
  Status ReadRecords();
  Status JudgeProvenance();
  Status MakeIndex();
  bool Elsewhere() const;
  void WarnThatItStaysItself() const;
  void NoteWhatIsDropped();
  void WarnOfDroppedBatches() const;
  Status CheckIdentity();
  Status LookForForeignWrites();
  Status LookForEntries();
  void ReadDigests();
  Status WriteMark();
  Status NoteMarks(std::vector<std::string> marks);

  rocksdb::DBOptions options_;
  const ReplicatedDBOptions& replication_;
  const std::string name_;
  const Predecessor* const predecessor_;  // may be null

  DirectoryState before_;
  std::vector<FormerOwner> former_owners_;
  ProvenanceFacts& traces_ = before_.traces;
  rocksdb::ColumnFamilyOptions index_options_;
  DB* db_ = nullptr;
  std::vector<ColumnFamilyHandle*> handles_;  // the application's
  ColumnFamilyHandle* index_ = nullptr;

  Opened opened_;
  bool fresh_index_ = true;
  bool renewed_ = false;  // becomes another replica than its index says
  bool recheck_ = false;  // data and index may be of different moments
  std::set<uint32_t> lost_families_;  // those that the index has no entry of
  std::optional<SealRecord> seal_;    // of the last close, if it was clean
  ClosedWrites foreign_;
};

Opening::~Opening() {
  if (db_ == nullptr) {
    // RocksDB has not opened the database, so it has no files in these paths.
    RestoreOwners(options_.env, former_owners_);
    return;
  }
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
  former_owners_.clear();
}

Status Opening::Run(const std::vector<ColumnFamilyDescriptor>& families) {
  opened_.indexed.hasher =
      std::make_unique<ElementHasher>(replication_.cluster_secret);
  opened_.completion =
      std::make_shared<HashCompletionFactory>(replication_.cluster_secret);
  // The claim comes before anything takes RocksDB's lock: to release that lock
  // would take it from another opening in this process.
  Status status = DirectoryClaim::Take(options_.env, name_, &opened_.claim);
  if (status.ok()) {
    status = ReadDirectoryState(options_, replication_, name_, predecessor_,
                                families, &before_);
  }
  if (status.ok()) status = CheckLogCanBeSynced(options_, name_);
  // Nothing goes before it that writes.
  if (status.ok() && predecessor_ == nullptr) {
    status =
        CheckBeforeWriting(options_, replication_, name_, families, &before_);
  } else if (status.ok()) {
    status = CheckLogReplays(options_, name_, families);
  }
  // A resync's copy is opened for the directory whose place it takes.
  if (status.ok() && predecessor_ == nullptr) {
    status = OwnPaths(options_, families, before_.directory, &former_owners_);
  }
  if (status.ok()) NoteWhatIsDropped();
  if (status.ok() && traces_.loss != Loss::kNone) status = BeginSalvage();
  if (status.ok()) status = OpenDatabase(families);
  return status.ok() ? TakeUp(families) : status;
}

Status Opening::TakeUp(const std::vector<ColumnFamilyDescriptor>& families) {
  Status status = ReadRecords();
  if (status.ok()) status = JudgeProvenance();
  if (status.ok()) {
    status = CheckKnownFamilies(replication_, name_, opened_.family_records,
                                families, handles_);
  }
  // The lock is held until the intended id is removed: an id that was made
  // meanwhile would be lost. Nothing is refused where there is no such lock, as
  // on some file systems.
  std::optional<IntendedIdLock> taking_up;
  if (status.ok() && (fresh_index_ || renewed_)) taking_up.emplace(name_);
  if (status.ok()) status = CheckIdentity();
  if (status.ok()) status = LookForForeignWrites();
  if (status.ok() && !fresh_index_ && !foreign_.changed)
    status = LookForEntries();
  if (recheck_) {
    // Nothing shows who wrote the pairs that disagree, so all of them are
    // quarantined.
    foreign_.any = true;
    foreign_.last_known_sequence = UINT64_MAX;
  }
  if (status.ok()) {
    status = FamilyPlanner(db_, replication_, lost_families_, foreign_,
                           traces_.loss == Loss::kLog, &opened_)
                 .Plan(families, handles_);
  }
  if (status.ok()) ReadDigests();
  if (status.ok() && fresh_index_) status = MakeIndex();
  if (status.ok() && predecessor_ != nullptr) {
    status = InheritPeers(*predecessor_, db_, index_);
  }
  if (status.ok()) status = WriteMark();
  // Once the database is a replica of its own, the clone's record says nothing
  // more.
  if (status.ok() && before_.clone.has_value() && predecessor_ == nullptr) {
    status = RemoveCloneRecord(options_.env, name_);
  }
  // The id is taken up; or an opening that was interrupted here left the file.
  if (status.ok()) status = RemoveIntendedId(options_.env, name_);
  return status;
}

// Notes the loss in the marker: once RocksDB has opened what is left, the files
// do not show it any more.
Status Opening::BeginSalvage() {
  const DirectoryLock lock(options_.env, name_);
  return lock.status().ok()
             ? NoteSalvage(options_.env, name_, traces_.loss)
             : Status::OK();  // OpenDatabase says who has it open
}

Status Opening::OpenDatabase(
    const std::vector<ColumnFamilyDescriptor>& families) {
  std::vector<ColumnFamilyDescriptor> all = families;
  Status status = FitWriteBufferBudget(families, &options_);
  opened_.indexed.directories = DirectoriesOf(options_, name_, families);
  if (status.ok() && replication_.min_free_bytes > 0) {
    status = CheckRoomToOpen(options_, name_, families);
  }
  if (!status.ok()) return status;
  if (options_.info_log == nullptr) {
    options_.info_log = NewInfoLog(options_, name_);
  }
  // What a killed process left in its log may not be synced. RocksDB replays
  // it. Unless RocksDB also flushes it, a later loss of power takes it and,
  // since the log then ends there, all that was synced after it.
  options_.avoid_flush_during_recovery = false;
  if (traces_.loss != Loss::kNone) {
    status = SalvageLog(options_, replication_, name_, families);
  }
  if (!status.ok()) return NameNotOpened(status, name_);
  opened_.indexed.memtable =
      NewIndexMemtable(replication_, options_.write_buffer_manager);
  index_options_ = IndexFamilyOptions(replication_, opened_.indexed.memtable,
                                      opened_.completion);
  if (before_.has_index) all.push_back({kIndexFamilyName, index_options_});
  opened_.files = std::make_shared<FileWatch>();
  options_.listeners.push_back(opened_.files);
  opened_.indexed.log = std::make_shared<LogWatch>();
  options_.listeners.push_back(opened_.indexed.log);
  std::unique_ptr<DB> opened;
  status = OpenPlain(options_, name_, all, &handles_, &opened);
  db_ = opened.release();
  if (!status.ok()) {
    handles_.clear();
    return NameNotOpened(status, name_);
  }
  opened_.claim->LookAgain();
  WarnOfDroppedBatches();
  if (before_.has_index) {
    index_ = handles_.back();
    handles_.pop_back();
  }
  // A marker says nothing of a database that was not there: DestroyDB leaves
  // the file. While RocksDB's lock is held nobody else changes it.
  return before_.has_database ? LookForMarker(options_.env, name_, &traces_)
                              : status;
}

Status Opening::ReadRecords() {
  if (!before_.has_index) return Status::OK();
  const Status status = HasPairs(db_, index_, &traces_.has_index);
  if (!status.ok() || !traces_.has_index) return status;
  return ReadIndexRecords(db_, index_, replication_, name_, &opened_, &traces_,
                          &seal_);
}

// Decides whose data these are. After this either the index is one to go on
// with, or there is none, or an empty one is to be made.
Status Opening::JudgeProvenance() {
  std::string db_identity;
  const Status status = db_->GetDbIdentity(db_identity);
  if (!status.ok()) return status;
  traces_.same_db_identity =
      opened_.indexed.identity.db_identity == db_identity;
  opened_.indexed.identity.db_identity = db_identity;
  const Provenance provenance = Judge(traces_);
  const Status allowed = CheckProvenance(provenance, replication_,
                                         before_.clone.has_value(), name_);
  if (!allowed.ok()) return allowed;
  switch (provenance) {
    case Provenance::kPlain:
    case Provenance::kIndexLost:
      break;
    case Provenance::kOwn:
      fresh_index_ = false;
      if (Elsewhere()) opened_.place.moved = true;
      if (replication_.open_copy_as_new_replica) {
        renewed_ = opened_.place.MayBeCopy();
        if (!renewed_) WarnThatItStaysItself();
      }
      break;
    case Provenance::kCopy:
    case Provenance::kPutBack:
    case Provenance::kRepaired:
      fresh_index_ = false;
      renewed_ = true;
      // A clone is of one moment. Data and index of other copies may not be, as
      // in a backup without logs.
      recheck_ = !before_.clone.has_value();
      break;
  }
  if (!fresh_index_) return status;
  // Nothing of what a damaged index said is kept.
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
  seal_.reset();
  return status;
}

// Makes an index where there was none. The marker allows for both states first,
// so that a crash leaves what can be made again.
Status Opening::MakeIndex() {
  Status status = NoteMarks({"", opened_.marker.marks.back()});
  if (status.ok() && before_.has_index && traces_.has_index) {
    // This is the rest of an index that is lost, or was being made.
    status = db_->DropColumnFamily(index_);
    db_->DestroyColumnFamilyHandle(index_).PermitUncheckedError();
    index_ = nullptr;
  }
  if (status.ok() && index_ == nullptr) {
    status = db_->CreateColumnFamily(index_options_, kIndexFamilyName, &index_);
  }
  return status;
}

// Notes what RocksDB drops of the log, before it opens the database and removes
// the log: this opening may end before anybody has read its statistics. Goes on
// if there is no room for the file, as LOG has the warning.
void Opening::NoteWhatIsDropped() {
  DroppedBatches all = before_.dropped;
  rocksdb::Env* const env = options_.env;
  if (!before_.has_database) {
    ForgetDroppedBatches(env, name_).PermitUncheckedError();
  } else if (TotalOf(all) == 0) {
    ReadDroppedBatches(env, name_, &all).PermitUncheckedError();
  } else {
    NoteDroppedBatches(env, name_, &all).PermitUncheckedError();
  }
  opened_.log_batches_dropped = TotalOf(all);
}

// Warns of dropped batches. RocksDB has deleted the log by now, or will: only a
// peer, or a copy of the log, has what was dropped.
void Opening::WarnOfDroppedBatches() const {
  const uint64_t dropped = TotalOf(before_.dropped);
  if (dropped == 0) return;
  rocksdb::Warn(
      options_.info_log,
      "rocksync: the log of %s is damaged: %llu batches behind the damage were "
      "dropped; what this replica alone held of them is lost, the rest comes "
      "back from peers, unless they refuse this replica; after a loss of power "
      "writes that were not synced look the same",
      name_.c_str(), static_cast<unsigned long long>(dropped));
}

// Returns whether the database was opened elsewhere before. A directory that
// was copied as it is has the marker, too. It is at home where it was opened
// last, until its peers know better; the original may have been moved as well,
// so the application has to say that this is a copy.
bool Opening::Elsewhere() const {
  const PlaceRecord& place = opened_.place;
  return !place.directory.empty() && !before_.directory.empty() &&
         place.directory != before_.directory;
}

// Warns an application that leaves the option on: it must not get a new replica
// with each opening.
void Opening::WarnThatItStaysItself() const {
  rocksdb::Warn(
      db_->GetDBOptions().info_log,
      "rocksync: open_copy_as_new_replica is ignored, this remains replica "
      "%016llx: nothing indicates that it is a copy (it lies where it was "
      "opened last, and no peer refused it). If it is one, for example of the "
      "same path on another machine, close it, remove the file %s in %s and "
      "open it again; otherwise remove the option",
      static_cast<unsigned long long>(opened_.indexed.identity.replica_id),
      kMarkerFileName, before_.directory.c_str());
}

Status Opening::CheckIdentity() {
  IdentityRecord* const identity = &opened_.indexed.identity;
  if (predecessor_ == nullptr && renewed_ && before_.clone.has_value()) {
    identity->replica_id = before_.clone->replica_id;
  } else if (predecessor_ == nullptr && (fresh_index_ || renewed_)) {
    const bool first = fresh_index_ && Judge(traces_) == Provenance::kPlain;
    const Status status = NewReplicaId(options_.env, replication_, name_, first,
                                       &identity->replica_id);
    if (!status.ok()) return status;
  }
  if (predecessor_ != nullptr) {
    if (fresh_index_) {
      return Status::Corruption(
          "rocksync: the copy in " + name_ + " has no index",
          "resync from another replica");
    }
    const Status status =
        Inherit(*predecessor_, options_.env->NowMicros() / 1000,
                replication_.max_clock_ahead_ms, &opened_);
    if (!status.ok()) return status;
  } else if (fresh_index_) {
    identity->home_id = identity->replica_id;
    opened_.indexed.past = {.since = 0};
  } else if (renewed_) {
    identity->incarnation = 0;
    opened_.indexed.past = {.since = 0};
    opened_.place = {};
    opened_.gc = opened_.gc.AsNewReplica();
  } else if (identity->incarnation > opened_.indexed.past.since) {
    Append({identity->incarnation, identity->incarnation_random},
           opened_.indexed.lease, &opened_.indexed.past);
  }
  opened_.place.directory = before_.directory;
  ++identity->incarnation;
  identity->incarnation_random = RandomBits();
  opened_.marker = {.directory = before_.directory,
                    .wal_dir = before_.wal_dir,
                    .marks = {NewMark()},
                    .files = ManifestLeft(db_),
                    // These two hold until the index says that it is another
                    // replica.
                    .index_in_tables = traces_.loss == Loss::kLog,
                    .rest = traces_.loss != Loss::kNone};
  return Status::OK();
}

Status Opening::LookForForeignWrites() {
  if (fresh_index_) return Status::OK();
  ClosedWritesSearch search(db_, replication_, handles_,
                            opened_.family_records);
  const Status status =
      search.Find(seal_, opened_.indexed.identity.manifest, before_.manifest,
                  &opened_.foreign, &foreign_);
  if (!status.ok()) return status;
  if (foreign_.any) {
    rocksdb::Warn(
        db_->GetDBOptions().info_log,
        "rocksync: the database was written to by a program that does not "
        "use rocksync, after sequence number %llu; re-checking",
        static_cast<unsigned long long>(foreign_.last_known_sequence));
  }
  const bool unfinished =
      opened_.work.index_pass && opened_.work.sealed_sequence != UINT64_MAX;
  // None of this holds where data and index may be of different moments.
  if ((foreign_.written || unfinished) && !recheck_) {
    search.NoteUntold(&opened_.foreign);
  }
  return status;
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
                  "rocksync: %s has pairs without an index entry, written by "
                  "another program or left by a loss; comparing all pairs with "
                  "the index",
                  name_.c_str());
  }
  lost_families_ = std::move(missing.lost_families);
  return status;
}

void Opening::ReadDigests() {
  const bool work_left =
      opened_.work.purge || opened_.work.index_pass ||
      std::any_of(opened_.family_records.begin(), opened_.family_records.end(),
                  [](const FamilyRecord& record) { return record.work != 0; });
  if (fresh_index_ && !work_left) {
    opened_.leaves = std::make_unique<LeafDigests::Leaves>(kLeafCount);
    opened_.tombstones.resize(kLeafCount);
    return;
  }
  if (work_left || foreign_.any || !seal_ || !seal_->has_digests) return;
  ReadSealedDigests(db_, index_, &opened_);
}

Status Opening::NoteMarks(std::vector<std::string> marks) {
  Marker marker = opened_.marker;
  marker.marks = std::move(marks);
  return WriteMarker(options_.env, name_, marker);
}

// Writes mark and records in the order of marker.h.
Status Opening::WriteMark() {
  const std::string mark = opened_.marker.marks.back();
  // The marker of a new replica must not list its original's mark: a crash
  // between the two writes would leave a copy that passes for the original.
  // This way it leaves a copy that is refused again.
  std::vector<std::string> marks = {mark};
  if (!renewed_) marks.insert(marks.begin(), fresh_index_ ? "" : traces_.mark);
  Status status = NoteMarks(std::move(marks));
  if (status.ok()) {
    status = CurrentManifest(options_.env, name_,
                             &opened_.indexed.identity.manifest);
  }
  if (status.ok()) {
    status = WriteIndexRecords(db_, index_, replication_, opened_);
  }
  const bool rest = std::exchange(opened_.marker.rest, false);
  opened_.marker.index_in_tables = false;
  if (status.ok() && (!renewed_ || rest)) status = NoteMarks({mark});
  return status;
}

}  // namespace

Status OpenIndexed(const rocksdb::DBOptions& options,
                   const ReplicatedDBOptions& replication,
                   const std::string& name,
                   const std::vector<ColumnFamilyDescriptor>& column_families,
                   const Predecessor* predecessor,
                   std::vector<ColumnFamilyHandle*>* handles, Opened* opened) {
  Status status = CheckNotForked();
  if (status.ok()) status = CheckDatabaseName(name);
  if (status.ok()) {
    status = CheckOpenArguments(options, replication, column_families);
  }
  if (!status.ok()) return status;
  Opening opening(options, replication, name, predecessor);
  status = opening.Run(column_families);
  if (status.IsNoSpace() && !IsOurError(status)) {
    return Status::NoSpace("rocksync: " + name + " cannot be opened",
                           "make room on its disk: " + status.ToString());
  }
  if (!status.ok()) return NameDamagedFile(status, options.env, name);
  opening.Release(handles, opened);
  return status;
}

}  // namespace rocksync
