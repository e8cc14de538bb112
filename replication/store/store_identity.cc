// Who this replica is, what it remembers of peers, and how it closes.

#include <algorithm>
#include <utility>

#include "replication/protocol/apply.h"
#include "replication/protocol/incarnation.h"
#include "replication/store/adoption.h"
#include "replication/store/current_manifest.h"
#include "replication/store/identity_incarnation.h"
#include "replication/store/index_key.h"
#include "replication/store/seal.h"
#include "replication/store/status.h"
#include "replication/store/store.h"
#include "replication/store/tombstone_sweep.h"

namespace rocksync {
namespace {

using rocksdb::Status;

std::string Hex(uint64_t id) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) {
    text.push_back(kDigits[(id >> shift) & 15]);
  }
  return text;
}

Status Refused(uint64_t replica_id, const std::string& why) {
  return Status::Aborted(
      "rocksync: replica " + Hex(replica_id) + " " + why,
      "open a copy or a restored backup with open_copy_as_new_replica");
}

}  // namespace

ReplicaIdentity Store::identity() const {
  return IdentityOf(identity_.replica_id,
                    {{identity_.incarnation, identity_.incarnation_nonce},
                     first_clock_,
                     std::min(clock_.Last(), lease_.until()),
                     past_});
}

uint64_t Store::Trusted(uint64_t reading) const {
  return rocksync::Trusted(reading, WallMs(), options_.max_clock_ahead_ms);
}

Status Store::RecallPeer(uint64_t replica_id, PeerRecord* known) const {
  std::string bytes;
  const Status status = db()->Get(rocksdb::ReadOptions(), reader_.index(),
                                  PeerKey(replica_id), &bytes);
  if (status.ok() && !Decode(bytes, known)) {
    return Status::Corruption("rocksync: what is remembered of replica " +
                              Hex(replica_id) + " is damaged");
  }
  return status;
}

Status Store::RememberPeer(const ReplicaIdentity& peer) {
  if (peer.replica_id == 0) {
    return Status::InvalidArgument("rocksync: a peer without an identity");
  }
  if (peer.replica_id == identity_.replica_id) {
    return Refused(peer.replica_id, "has the identity of this replica");
  }
  std::lock_guard lock(peers_mutex_);
  PeerRecord known;
  const Status recalled = RecallPeer(peer.replica_id, &known);
  if (!recalled.ok() && !recalled.IsNotFound()) return recalled;
  const Incarnation before = {
      .incarnation = {known.incarnation, known.incarnation_nonce},
      .clock = known.clock};
  const Incarnation after = IncarnationOf(peer);
  const Succession succession = Compare(before, after);
  if (succession != Succession::kFollows) {
    return Refused(peer.replica_id, Describe(succession, before, after));
  }
  const Incarnation later = Later(before, after);
  // Else a peer could not come back with its clock corrected.
  const PeerRecord now{later.incarnation.counter, later.incarnation.random,
                       std::max(known.clock, Trusted(later.clock))};
  const std::string record = Encode(now);
  if (recalled.ok() && record == Encode(known)) return Status::OK();
  rocksdb::WriteOptions synced;
  synced.sync = true;
  return db()->Put(synced, reader_.index(), PeerKey(peer.replica_id), record);
}

Status Store::NoteSuperseded() {
  return NotePlace([](PlaceRecord* place) { place->superseded = true; });
}

Status Store::NoteMetItself() {
  return NotePlace([](PlaceRecord* place) { place->met_itself = true; });
}

Status Store::NoteAcknowledgedMore(uint64_t peer_id) {
  return NotePlace([peer_id](PlaceRecord* place) {
    if (place->acknowledged_more_to == 0) place->acknowledged_more_to = peer_id;
  });
}

Status Store::NoteTakenBack(uint64_t peer_id) {
  return NotePlace([peer_id](PlaceRecord* place) {
    if (place->acknowledged_more_to == peer_id) place->acknowledged_more_to = 0;
  });
}

Status Store::NotePlace(const std::function<void(PlaceRecord*)>& change) {
  std::lock_guard lock(place_mutex_);
  PlaceRecord place = place_;
  change(&place);
  const std::string record = Encode(place);
  // The two may meet every few seconds.
  if (record == Encode(place_)) return Status::OK();
  rocksdb::WriteOptions synced;
  synced.sync = true;
  const Status status =
      db()->Put(synced, reader_.index(), MetaKey(kPlaceRecord), record);
  if (status.ok()) place_ = std::move(place);
  return status;
}

Status Store::Seal() {
  LeafDigests::Readied readied;
  // Digests that would take a scan are left to the next opening.
  if (adoption_->Progress().done && digests_.UpToDate() &&
      !digests_.Ready({}, &readied).ok()) {
    readied.leaves = nullptr;
  }
  const std::shared_ptr<const LeafDigests::Leaves> leaves = readied.leaves;
  rocksdb::WriteBatch batch;
  Status status;
  const auto put = [&](const std::string& key, const std::string& value) {
    if (status.ok()) status = batch.Put(reader_.index(), key, value);
  };
  if (leaves != nullptr) {
    constexpr size_t kPerChunk = kLeafCount / kDigestChunks;
    const LeafDigests::Tombstones tombstones = digests_.LeafTombstonesNow();
    for (uint32_t chunk = 0; chunk < kDigestChunks; ++chunk) {
      put(DigestKey(chunk),
          EncodeDigests(leaves->data() + chunk * kPerChunk, kPerChunk));
      put(TombstonesKey(chunk),
          EncodeTombstones(tombstones.data() + chunk * kPerChunk, kPerChunk));
    }
    put(MetaKey(kQuarantinedRecord), Encode(digests_.LeafQuarantinedNow()));
  }
  AllStripesGuard all(&locks_);
  rocksdb::ColumnFamilyHandle* const index = reader_.index();
  // Synced, so that a disk that fails says so here, and not in a flush, which
  // RocksDB tries again after a second.
  rocksdb::WriteOptions synced;
  synced.sync = true;
  if (status.ok()) status = db()->Write(synced, &batch);
  if (!status.ok()) return status;
  // The next opening replays next to nothing of the index. Before the seal,
  // after which nothing is flushed.
  db()->Flush(rocksdb::FlushOptions(), index).PermitUncheckedError();
  batch.Clear();
  put(MetaKey(kLeaseRecord), EncodeLease(clock_.Last() + 1));
  // A mark of its own (marker.h): a state of this opening that is put back
  // after its end shows. Without room for the file the old mark stays.
  const std::string mark = NewMark();
  Marker either = marker_;
  either.marks.push_back(mark);
  const bool marked = WriteMarker(db()->GetEnv(), db()->GetName(), either).ok();
  if (marked) put(MetaKey(kMarkRecord), EncodeMark(mark));
  std::vector<rocksdb::ColumnFamilyHandle*> families;
  for (const Family& family : table().families()) {
    families.push_back(family.handle());
  }
  if (status.ok()) {
    status = WriteSeal(db(), index, families, leaves != nullptr, &batch);
  }
  if (!status.ok() || !marked) return status;
  marker_.marks = {mark};
  // Else it goes on listing both.
  WriteMarker(db()->GetEnv(), db()->GetName(), marker_).PermitUncheckedError();
  return status;
}

Status Store::CheckOpen() const {
  return closed_ ? Status::ShutdownInProgress("rocksync: it was closed")
                 : Status::OK();
}

Status Store::CheckClosable() const {
  uint64_t all = 0;
  if (closed_ ||
      !db()->GetIntProperty(rocksdb::DB::Properties::kNumSnapshots, &all) ||
      all <= counted_.snapshots_held()) {
    return Status::OK();
  }
  return Status::Aborted("rocksync: snapshots are held",
                         "release them, then close it");
}

Status Store::Close() {
  if (closed_) return Status::OK();
  closed_ = true;
  // The next opening goes on with what has to be compared.
  const Status noticed = DealWithForeignWrites(/*may_wait=*/true);
  files()->Stop();
  adoption_->Stop();
  sweep_->Stop();
  lease_.Stop();  // the seal's is the last one written
  Status status = Seal();
  if (status.ok()) status = noticed;
  digests_.Invalidate();
  foreign_.Close();
  rocksdb::ColumnFamilyHandle* const index = reader_.index();
  rocksdb::DB* const database = db();
  reader_.SetFamilies(&no_families_);
  tables_.clear();
  const Status destroyed = database->DestroyColumnFamilyHandle(index);
  return status.ok() ? destroyed : status;
}

}  // namespace rocksync
