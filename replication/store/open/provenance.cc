#include "replication/store/open/provenance.h"

#include "replication/store/open/remedies.h"

namespace rocksync {

using rocksdb::Status;

Provenance Judge(const ProvenanceFacts& traces) {
  const bool none_due = !traces.marker.has_value() || traces.marker->Lists("");
  if (!traces.has_index) {
    return none_due ? Provenance::kPlain : Provenance::kIndexLost;
  }
  if (!traces.index_complete) {
    // A part may be found only where the index was being made or dropped:
    // RocksDB makes and drops a family as a whole, and the records are one
    // batch.
    return traces.marker.has_value() && none_due ? Provenance::kPlain
                                                 : Provenance::kIndexLost;
  }
  if (!traces.marker.has_value()) return Provenance::kCopy;
  if (traces.loss != Loss::kNone || !traces.marker->Lists(traces.mark)) {
    return Provenance::kPutBack;
  }
  return traces.same_db_identity ? Provenance::kOwn : Provenance::kRepaired;
}

Status Refusal(Provenance provenance, const std::string& name) {
  switch (provenance) {
    case Provenance::kIndexLost:
      return Status::Corruption(
          "rocksync: the index of " + name +
              " is lost, or a part of it (was RepairDB used?): which of its "
              "pairs are newer than those of its peers, and what was deleted, "
              "is not known any more",
          "replace it by a new, empty replica that peers fill; or, if what it "
          "alone holds is wanted, open it once with the option "
          "adopt_after_index_loss (rocksync-store: --adopt-after-index-loss) "
          "as "
          "a new replica whose pairs lose to any that a peer has; or, only if "
          "another program made this database anew after DestroyDB, remove "
          "the file ROCKSYNC, which DestroyDB leaves");
    case Provenance::kCopy:
      return Status::Aborted(
          "rocksync: " + name +
              " is a copy of another replica (a checkpoint or a restored "
              "backup), or its file " +
              kMarkerFileName + " was removed",
          kOpenAsNewReplica);
    case Provenance::kPutBack:
      return Status::Aborted(
          "rocksync: " + name +
              " is not in the state that it was left in: an older one was put "
              "back, or its log is lost",
          kOpenAsNewReplica);
    case Provenance::kRepaired:
      return Status::Aborted(
          "rocksync: " + name +
              " has another RocksDB identity than it was left with: it is a "
              "copy, or RepairDB was used and may have lost a part",
          kOpenAsNewReplica);
    case Provenance::kPlain:
    case Provenance::kOwn:
      break;
  }
  return Status::OK();
}

Status CheckProvenance(Provenance provenance,
                       const ReplicatedDBOptions& replication, bool cloned,
                       const std::string& name) {
  const bool allowed = provenance == Provenance::kIndexLost
                           ? replication.adopt_after_index_loss
                           : replication.open_copy_as_new_replica || cloned;
  return allowed ? Status::OK() : Refusal(provenance, name);
}

}  // namespace rocksync
