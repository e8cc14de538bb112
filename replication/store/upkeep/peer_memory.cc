#include "replication/store/upkeep/peer_memory.h"

#include <algorithm>
#include <string>

#include "replication/store/format/index_key.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

using rocksdb::Status;

Status Refused(uint64_t replica_id, const std::string& why) {
  return Status::Aborted(
      "rocksync: replica " + ReplicaIdHex(replica_id) + " " + why,
      "open a copy or a restored backup with the option "
      "open_copy_as_new_replica (rocksync-store: --as-new-replica)");
}

Incarnation AsIncarnation(const PeerRecord& known) {
  return {.incarnation = {known.incarnation, known.incarnation_random},
          .clock = known.clock};
}

}  // namespace

Status PeerMemory::Read(uint64_t replica_id, PeerRecord* known) const {
  std::string bytes;
  const Status status =
      indexed_->db()->Get(rocksdb::ReadOptions(), indexed_->reader().index(),
                          PeerKey(replica_id), &bytes);
  if (status.ok() && !Decode(bytes, known)) {
    return Status::Corruption("rocksync: what is remembered of replica " +
                              ReplicaIdHex(replica_id) + " is damaged");
  }
  return status;
}

std::optional<Incarnation> PeerMemory::Recall(uint64_t replica_id) const {
  PeerRecord known;
  if (!Read(replica_id, &known).ok()) return std::nullopt;
  return AsIncarnation(known);
}

Status PeerMemory::Remember(uint64_t replica_id,
                            const Incarnation& incarnation) {
  const Status open = indexed_->CheckOpen();
  if (!open.ok()) return open;
  if (replica_id == 0) {
    return Status::InvalidArgument(
        "rocksync: the peer has replica id 0, which no replica has; its "
        "directory is damaged, or it is another program");
  }
  if (replica_id == indexed_->replica_id()) {
    return Refused(replica_id, "has the identity of this replica");
  }
  std::lock_guard lock(peers_mutex_);
  PeerRecord known;
  const Status recalled = Read(replica_id, &known);
  if (!recalled.ok() && !recalled.IsNotFound()) return recalled;
  const Incarnation before = AsIncarnation(known);
  const Succession succession = Compare(before, incarnation);
  if (succession != Succession::kFollows) {
    return Refused(replica_id, Describe(succession, before, incarnation));
  }
  const Incarnation later = Later(before, incarnation);
  // The reading is capped, or a peer could not come back with its clock
  // corrected.
  const PeerRecord now{later.incarnation.counter, later.incarnation.random,
                       std::max(known.clock, indexed_->Trusted(later.clock))};
  const std::string record = Encode(now);
  if (recalled.ok() && record == Encode(known)) return Status::OK();
  rocksdb::WriteOptions synced;
  synced.sync = true;
  return indexed_->patient()->PutRecord(synced, PeerKey(replica_id), record);
}

Status PeerMemory::NoteSuperseded() {
  return NotePlace([](PlaceRecord* place) { place->superseded = true; });
}

Status PeerMemory::NoteMetItself() {
  return NotePlace([](PlaceRecord* place) { place->met_itself = true; });
}

Status PeerMemory::NoteAcknowledgedMore(uint64_t peer_id) {
  return NotePlace([peer_id](PlaceRecord* place) {
    if (place->acknowledged_more_to == 0) place->acknowledged_more_to = peer_id;
  });
}

Status PeerMemory::NoteTakenBack(uint64_t peer_id) {
  return NotePlace([peer_id](PlaceRecord* place) {
    if (place->acknowledged_more_to == peer_id) place->acknowledged_more_to = 0;
  });
}

Status PeerMemory::NotePlace(const std::function<void(PlaceRecord*)>& change) {
  std::lock_guard lock(place_mutex_);
  PlaceRecord place = place_;
  change(&place);
  const std::string record = Encode(place);
  // The two may meet every few seconds, so nothing is written twice.
  if (record == Encode(place_)) return Status::OK();
  rocksdb::WriteOptions synced;
  synced.sync = true;
  const Status status =
      indexed_->patient()->PutRecord(synced, MetaKey(kPlaceRecord), record);
  if (status.ok()) place_ = std::move(place);
  return status;
}

}  // namespace rocksync
