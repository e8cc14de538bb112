#include "replication/peering/compared.h"

#include "rocksync/replica_id.h"

namespace rocksync {

rocksdb::Status CompareWith(const Compared& now, Compared* compared) {
  if (compared->peer_id == 0) *compared = now;
  if (now.peer_id != compared->peer_id) {
    return rocksdb::Status::TryAgain(
        "rocksync: the first look met replica " +
            ReplicaIdHex(compared->peer_id) + " at this address, and a later " +
            "one replica " + ReplicaIdHex(now.peer_id),
        "compare again");
  }
  if (now.families != compared->families) {
    return rocksdb::Status::TryAgain(
        "rocksync: a replicated column family was created or dropped between "
        "two looks",
        "compare again");
  }
  return rocksdb::Status::OK();
}

}  // namespace rocksync
