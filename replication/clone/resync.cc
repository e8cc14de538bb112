// Resync: brings a replica that is far behind up to date by a copy of another
// one, the source.
//
// The order of the steps makes it safe. First the replica meets the source, as
// before a session, and from then on nobody else. So both have its stable time,
// and every tombstone up to it is in the source's data, of which the checkpoint
// is made only now. Tombstones that the source has collected since then, this
// replica had acknowledged. So the copy, together with what the replica alone
// holds, is what the replica would hold after a session with the source, and
// all that the replica has announced remains true.
//
// After the copy the replica meets the source once more, to learn its clock
// reading: a replica that takes versions of another one notes up to which
// reading, so that it can tell when that one is rolled back. This meeting must
// not move the stable time, or tombstones that the copy lacks would count as
// collected.

#include <memory>
#include <string>
#include <vector>

#include "replication/base/directories.h"
#include "replication/base/status.h"
#include "replication/clone/attended.h"
#include "replication/clone/carry_over.h"
#include "replication/clone/clone.h"
#include "replication/clone/clone_directory.h"
#include "replication/clone/open_replica.h"
#include "replication/peering/link.h"
#include "replication/peering/replicator_context.h"
#include "replication/session/conflict.h"
#include "replication/session/difference.h"
#include "replication/session/session.h"
#include "replication/store/directory/directory_switch.h"
#include "replication/store/format/current_manifest.h"
#include "replication/store/format/marker.h"
#include "replication/store/offline/directory_access.h"
#include "replication/store/open/kept_options_file.h"
#include "replication/store/open/predecessor.h"
#include "replication/store/store_access.h"
#include "replication/store/upkeep/membership.h"
#include "replication/store/upkeep/peer_memory.h"
#include "replication/store/write/indexed_db.h"
#include "replication/store/write/refusals.h"
#include "rocksync/clone.h"
#include "rocksync/replica_id.h"
#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::Status;

class Resyncing {
 public:
  Resyncing(const rocksdb::DBOptions& options,
            const ReplicatedDBOptions& replication, const std::string& name,
            const std::vector<ColumnFamilyDescriptor>& families,
            const ResyncOptions& resync, ResyncResult* result)
      : options_(options),
        replication_(replication),
        name_(name),
        families_(families),
        resync_(resync),
        result_(result),
        options_file_(options.env, name) {
    // The copy lies in another directory until the switch.
    copy_options_.create_if_missing = false;
    copy_options_.create_missing_column_families = false;
    copy_options_.wal_dir.clear();
    // The hook sees pairs of peers only, and carried-over pairs are none.
    copy_replication_.hook = nullptr;
  }

  Status Run() {
    Status s = CheckArguments();
    if (!s.ok()) return s;
    TellStage(clone_, CloneProgress::Stage::kAsking, result_->copy);
    s = OpenOld();
    if (s.ok()) s = Meet();
    if (!s.ok()) return s;
    if (!result_->copied) return LetASessionDoIt();
    s = CheckNothingIsQuarantined();
    if (s.ok()) s = Copy();
    if (s.ok()) s = MeetAgain();
    if (s.ok()) s = CarryOverWhatIsMissing();
    if (s.ok()) s = Switch();
    return s;
  }

  // Returns the OPTIONS file as the replica's last opening left it, to be put
  // back where the copy now is. REQUIRES: Run was OK.
  const KeptOptionsFile& options_file() const { return options_file_; }

 private:
  Status CheckArguments() const;
  Status OpenOld();
  Status CheckNothingIsQuarantined() const;
  Status Meet();
  bool MuchIsToCome(Link* link) const;
  Status LetASessionDoIt();
  Status Copy();
  Status MeetAgain();
  Status CarryOverWhatIsMissing();
  Status Switch();

  const rocksdb::DBOptions options_;
  const ReplicatedDBOptions& replication_;
  const std::string name_;
  const std::vector<ColumnFamilyDescriptor>& families_;
  const ResyncOptions& resync_;
  const CloneOptions& clone_ = resync_.copy;
  ResyncResult* const result_;
  KeptOptionsFile options_file_;
  rocksdb::DBOptions copy_options_ = options_;
  ReplicatedDBOptions copy_replication_ = replication_;

  // The replica, open until the switch, so that no other program opens it.
  OpenReplica old_;
  Terms terms_;         // agreed with the source before the copy
  Incarnation source_;  // the source's, as met after the copy
};

Status Resyncing::CheckArguments() const {
  Status s = CheckPlaces(options_, name_, families_);
  if (s.ok()) s = CheckOpenArguments(options_, replication_, families_);
  if (s.ok()) s = CheckCloneOptions(clone_);
  if (s.ok() &&
      !(resync_.copy_from_share >= 0 && resync_.copy_from_share <= 1)) {
    s = Status::InvalidArgument(
        "ResyncOptions::copy_from_share must be 0 to 1");
  }
  if (s.ok()) s = FinishSwitch(options_.env, name_);
  if (s.ok()) s = CheckSwitch(options_.env, name_);
  for (const ColumnFamilyDescriptor& family : families_) {
    if (s.ok() && !IsReplicatedName(replication_, family.name)) {
      s = Status::NotSupported(
          "rocksync: the column family '" + family.name +
              "' is not replicated, and a resync would put the source's in its "
              "place",
          "let sessions bring this replica up to date");
    }
  }
  return s;
}

Status Resyncing::OpenOld() {
  std::string current;
  Status s = CurrentManifest(options_.env, name_, &current);
  if (s.IsNotFound()) {
    return Status::InvalidArgument("rocksync: no replica is in " + name_,
                                   "clone into it");
  }
  // A plain database is refused here, since opening it would adopt it.
  Marker marker;
  if (s.ok()) s = ReadMarker(options_.env, name_, &marker);
  if (s.IsNotFound()) {
    return Status::InvalidArgument(
        "rocksync: no replica is in " + name_ +
            ", but a plain database, or the copy of one",
        "open it once as a replica; or clone into a new directory");
  }
  rocksdb::DBOptions options = options_;
  options.create_if_missing = false;
  options.create_missing_column_families = false;
  // Compactions are off: one that meets a block which does not read stops all
  // writes, and a resync is a remedy for such a block.
  std::vector<ColumnFamilyDescriptor> families = families_;
  for (ColumnFamilyDescriptor& family : families) {
    family.options.disable_auto_compactions = true;
  }
  if (s.ok()) s = options_file_.Read();
  if (s.ok()) s = old_.Open(options, replication_, name_, families);
  if (s.ok()) s = options_file_.PutBack();
  if (!s.ok()) return s;
  const uint64_t id = old_.db()->Identity().replica_id;
  const uint64_t certified = clone_.transport->replica_id();
  if (certified != 0 && certified != id) {
    return Status::InvalidArgument(
        "rocksync: " + name_ + " is replica " + ReplicaIdHex(id) +
            ", and the certificate is of " + ReplicaIdHex(certified),
        "give the replica's own");
  }
  return s;
}

Status Resyncing::Meet() {
  ReplicatorOptions options = ReplicatorOptionsOf(clone_);
  // A low bound, so that few leaves are compared at once.
  options.max_session_bytes = size_t{8} << 20;
  ReplicatorContext replica(options, old_.db(), clone_.transport);
  const EndIfCancelled end(clone_.cancelled, [&] { Stop(&replica); });
  std::unique_ptr<Link> link;
  const Status s = MeetSource(clone_, &replica, &link);
  if (!s.ok()) return s;
  result_->copy.replica_id = replica.identity.replica_id;
  result_->copy.source_id = link->peer_id();
  terms_ = StoreAccess::MembershipOf(old_.db())->Now().terms();
  result_->copied = MuchIsToCome(link.get());
  return Cancelled(clone_) ? Status::Aborted("the resync was cancelled") : s;
}

Status Resyncing::MeetAgain() {
  ReplicatorContext replica(ReplicatorOptionsOf(clone_), old_.db(),
                            clone_.transport);
  const EndIfCancelled end(clone_.cancelled, [&] { Stop(&replica); });
  std::unique_ptr<Link> link;
  const Status s = MeetSource(clone_, &replica, &link);
  if (!s.ok()) return s;
  const auto met = StoreAccess::PeersOf(old_.db())->Recall(link->peer_id());
  if (link->peer_id() != result_->copy.source_id || !met.has_value()) {
    return Status::TryAgain(
        "rocksync: another replica is at " + clone_.source + " by now",
        "resync again");
  }
  if (StoreAccess::MembershipOf(old_.db())->Now().terms() != terms_) {
    return Status::TryAgain(
        "rocksync: the member list, or what is collected, has changed",
        "resync again");
  }
  source_ = *met;
  return s;
}

// Estimates by a sample, the leaves that are compared first, whether a copy is
// worthwhile.
bool Resyncing::MuchIsToCome(Link* link) const {
  constexpr uint64_t kSample = 10'000;
  if (resync_.copy_from_share == 0) return true;
  uint64_t to_come = 0;
  uint64_t missing_here = 0;
  VerifyTask task;
  task.found = [&](const Difference& difference) {
    if (difference.mine.state == Held::State::kNothing) {
      ++missing_here;
      ++to_come;
    } else if (difference.theirs.state != Held::State::kNothing &&
               CompareVersions(difference.theirs.version,
                               difference.mine.version) !=
                   VersionOrder::kOlder) {
      ++to_come;
    }
    return to_come < kSample;
  };
  SessionReport report;
  VerifiedPeer peer;
  const SessionResult met = link->Compare(task, &peer, &report);
  // A source that cannot compare now can still be copied.
  if (!met.status.ok() || met.busy || met.expired) return true;
  // Pairs that are missing here are not among this side's elements.
  const uint64_t looked_at =
      missing_here +
      (report.compared ? report.elements : report.elements_compared);
  return static_cast<double>(to_come) >=
         resync_.copy_from_share * static_cast<double>(looked_at);
}

// Makes the check of CarryOver in advance, so that nothing is copied in vain.
Status Resyncing::CheckNothingIsQuarantined() const {
  const auto view = StoreAccess::NewView(old_.db());
  const auto snapshot = view->TakeSnapshot([&] { return Cancelled(clone_); });
  // The number may not be known now, as while the replica re-checks its index.
  if (!snapshot.ok()) return Status::OK();
  const uint64_t quarantined = (*snapshot)->LeftOut();
  if (quarantined == 0) return Status::OK();
  return Status::InvalidArgument(
      "the replica has " + std::to_string(quarantined) +
          " quarantined pairs, which a resync would drop",
      "let sessions with peers repair or resolve them first");
}

Status Resyncing::LetASessionDoIt() {
  TellStage(clone_, CloneProgress::Stage::kProving, result_->copy);
  Prove(old_.db(), clone_, &result_->copy);
  const Status closed = old_.Close();
  return closed.ok() && !result_->copy.proven_equal && Cancelled(clone_)
             ? Status::Aborted("the resync was cancelled")
             : closed;
}

Status Resyncing::Copy() {
  std::unique_ptr<CloneDirectory> directory;
  const Status s = CloneDirectory::PrepareResync(
      options_.env, ResyncDirectory(options_.env, name_),
      old_.db()->Identity().replica_id, &directory);
  if (!s.ok()) return s;
  TakeOverMode(options_.env, name_);
  return CopyFiles(replication_, clone_, directory.get(), &result_->copy);
}

Status Resyncing::CarryOverWhatIsMissing() {
  TellStage(clone_, CloneProgress::Stage::kCarryingOver, result_->copy);
  const IndexedDB& indexed = *StoreAccess::IndexedOf(old_.db());
  Predecessor predecessor;
  Status s = ReadPredecessor(indexed.db(), indexed.reader().index(),
                             replication_, AbsolutePath(options_.env, name_),
                             StoreAccess::MembershipOf(old_.db())->Now(),
                             &predecessor);
  predecessor.source = source_;
  OpenReplica copy;
  const std::string directory = ResyncDirectory(options_.env, name_);
  KeptOptionsFile options_file(options_.env, directory);
  if (s.ok()) s = options_file.ReadFrom(name_);
  if (s.ok()) {
    s = copy.Open(copy_options_, copy_replication_, directory, families_,
                  &predecessor);
  }
  if (s.ok()) s = options_file.PutBack();
  if (!s.ok()) return s;
  {
    const auto from = StoreAccess::NewView(old_.db());
    const auto to = StoreAccess::NewView(copy.db());
    s = ToRocksDb(CarryOver(from.get(), to.get(), clone_.cancelled,
                            &result_->carried_over));
    // Close would sync as well, but not while RocksDB stalls writes.
    if (s.ok()) s = ToRocksDb(to->Sync());
  }
  const Status closed = copy.Close();
  return s.ok() ? closed : s;
}

Status Resyncing::Switch() {
  Status s = old_.Close();
  std::unique_ptr<DirectoryLock> lock;
  if (s.ok()) s = LockDirectory(options_.env, name_, &lock);
  if (!s.ok()) return s;
  // Between Close and the lock another program may have opened the replica, and
  // written to it.
  if (CurrentManifest(options_.env, name_) != old_.manifest_at_close()) {
    return Status::TryAgain(
        "rocksync: another program has opened " + name_ + " meanwhile",
        "end it, then resync again");
  }
  return SwitchDirectories(options_.env, name_);
}

Status RunResync(rocksdb::DBOptions options,
                 const ReplicatedDBOptions& replication,
                 const std::string& directory,
                 const std::vector<ColumnFamilyDescriptor>& families,
                 const ResyncOptions& resync, ResyncResult* result) {
  Resyncing resyncing(options, replication, directory, families, resync,
                      result);
  const Status s = resyncing.Run();
  if (!s.ok() || !result->copied) return s;
  options.create_if_missing = false;
  const Status opened =
      BecomeReplica(options, replication, directory, families, resync.copy,
                    &result->copy, &resyncing.options_file());
  // The copy is in place even if it could not be opened or proven.
  if (!opened.ok()) {
    result->copy.proven_equal = false;
    result->copy.session_error = opened.ToString();
  }
  return Status::OK();
}

}  // namespace

Status ReplicatedDB::Resync(const rocksdb::DBOptions& options,
                            const ReplicatedDBOptions& replication,
                            const std::string& name,
                            const std::vector<ColumnFamilyDescriptor>& families,
                            const ResyncOptions& resync, ResyncResult* result) {
  ResyncResult scratch;
  if (result == nullptr) result = &scratch;
  *result = {};
  const Status named = CheckDatabaseName(name);
  if (!named.ok()) return named;
  rocksdb::DBOptions there = options;
  if (options.wal_dir == name || options.wal_dir == name + "/") {
    there.wal_dir.clear();
  }
  // The working directory may be the one that is replaced.
  const std::string absolute = AbsolutePath(options.env, name);
  const std::string& directory = absolute.empty() ? name : absolute;
  return Attended(resync.copy, [&](const CloneOptions& attended) {
    const ResyncOptions given{attended, resync.copy_from_share};
    return RunResync(there, replication, directory, families, given, result);
  });
}

}  // namespace rocksync
