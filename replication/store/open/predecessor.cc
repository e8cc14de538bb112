#include "replication/store/open/predecessor.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "replication/session/acceptance.h"
#include "replication/store/format/index_key.h"
#include "replication/store/open/index_records.h"
#include "replication/store/open/opened.h"
#include "replication/store/write/lease.h"
#include "rocksdb/write_batch.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

// How far a lease is ahead of the clock.
constexpr uint64_t kLeaseMs = Lease::kTerm >> 16;

using rocksdb::ColumnFamilyHandle;
using rocksdb::DB;
using rocksdb::Slice;
using rocksdb::Status;

Status ForEachPeer(
    DB* db, ColumnFamilyHandle* index,
    const std::function<void(const Slice& key, const Slice& record)>& visit) {
  const std::string prefix = MetaKey(kPeerRecordPrefix);
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(options, index));
  for (at->Seek(prefix); at->Valid() && at->key().starts_with(prefix);
       at->Next()) {
    visit(at->key(), at->value());
  }
  return at->status();
}

}  // namespace

Status ReadPredecessor(DB* db, ColumnFamilyHandle* index,
                       const ReplicatedDBOptions& replication,
                       const std::string& directory, GcState gc,
                       Predecessor* predecessor) {
  Opened opened;
  ProvenanceFacts traces;
  std::optional<SealRecord> seal;
  Status status = ReadIndexRecords(db, index, replication, directory, &opened,
                                   &traces, &seal);
  if (status.ok() && !traces.index_complete) {
    status = Status::Corruption("rocksync: " + directory +
                                " lacks records of its index");
  }
  if (!status.ok()) return status;
  predecessor->directory = directory;
  predecessor->identity = std::move(opened.indexed.identity);
  predecessor->past = std::move(opened.indexed.past);
  predecessor->place = std::move(opened.place);
  predecessor->gc = std::move(gc);
  predecessor->lease = opened.indexed.lease;
  predecessor->peers.clear();
  return ForEachPeer(db, index, [&](const Slice& key, const Slice& record) {
    predecessor->peers.emplace_back(key.ToString(), record.ToString());
  });
}

Status Inherit(const Predecessor& predecessor, uint64_t wall_ms,
               uint64_t max_ahead_ms, Opened* opened) {
  const IdentityRecord source = opened->indexed.identity;
  const std::string name = ReplicaIdHex(source.replica_id);
  // A session would hold its versions back; here the clock would follow them.
  const Version latest = {.time = opened->indexed.lease,
                          .replica = source.replica_id};
  if (TooFarAhead(latest, wall_ms, max_ahead_ms + kLeaseMs)) {
    return Status::TryAgain(
        "rocksync: the clock of replica " + name + " is " +
            std::to_string((WallMs(latest) - wall_ms) / 1000) +
            " s ahead of this one's",
        "set the clocks right, or resync from another replica");
  }
  if (opened->gc.epoch != predecessor.gc.epoch) {
    return Status::TryAgain(
        "rocksync: replica " + name + " has another member list by now",
        "resync again");
  }
  if (opened->gc.may_hold_deleted_pairs || opened->gc.bootstrapping) {
    return Status::InvalidArgument(
        "rocksync: replica " + name +
            " came into the member list and is not proven equal to one that "
            "was in it",
        "resync from another replica, or wait for that");
  }
  GcState gc = predecessor.gc;
  const Incarnation& met = predecessor.source;
  const IncarnationId copied = {source.incarnation, source.incarnation_random};
  // All that the source issued up to the copy is taken, as in a session.
  if (met.incarnation != copied ||
      !gc.RecordSender(source.replica_id, copied, met.clock)) {
    return Status::TryAgain(
        "rocksync: replica " + name + " has restarted meanwhile",
        "resync again");
  }
  opened->gc = std::move(gc);
  IdentityRecord* const identity = &opened->indexed.identity;
  identity->replica_id = predecessor.identity.replica_id;
  identity->incarnation = predecessor.identity.incarnation;
  identity->incarnation_random = predecessor.identity.incarnation_random;
  opened->place = predecessor.place;
  // No version may be issued again, nor be lower than what the replica now
  // holds.
  opened->indexed.lease = std::max(opened->indexed.lease, predecessor.lease);
  opened->indexed.past = predecessor.past;
  if (identity->incarnation > opened->indexed.past.since) {
    Append({identity->incarnation, identity->incarnation_random},
           opened->indexed.lease, &opened->indexed.past);
  }
  return Status::OK();
}

Status InheritPeers(const Predecessor& predecessor, DB* db,
                    ColumnFamilyHandle* index) {
  rocksdb::WriteBatch batch;
  Status status;
  const Status read =
      ForEachPeer(db, index, [&](const Slice& key, const Slice&) {
        if (status.ok()) status = batch.Delete(index, key);
      });
  if (!read.ok()) return read;
  for (const auto& [key, record] : predecessor.peers) {
    if (status.ok()) status = batch.Put(index, key, record);
  }
  return status.ok() ? db->Write(rocksdb::WriteOptions(), &batch) : status;
}

}  // namespace rocksync
