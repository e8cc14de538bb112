// A replica's storage as the sessions and streams of one connection see it.

#ifndef ROCKSYNC_REPLICATION_STORE_REPLICA_VIEW_H_
#define ROCKSYNC_REPLICATION_STORE_REPLICA_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/membership/incarnation.h"
#include "replication/membership/tombstone_gc.h"
#include "replication/session/storage_view.h"

namespace rocksync {

// With one member list and one stable time. Thread-safe.
class ReplicaView : public StorageView {
 public:
  // Sets what both sides of the connection agreed on, and with which peer.
  // Before, the view has the store's terms of when it was made, and pairs have
  // no sender.
  // REQUIRES: no session is running.
  virtual void AgreeOn(const Terms& terms, uint64_t peer_id,
                       const IncarnationId& peer_incarnation) = 0;
  // Whether the store has other terms or families by now. TakeSnapshot would
  // return Unavailable, and the two sides should agree anew.
  virtual bool stale() const = 0;
  // Returns the names of the view's families, by ordinal.
  virtual std::vector<std::string> family_names() const = 0;
  // Returns the ordinal of the view's family with this RocksDB id; nullopt:
  // none.
  virtual std::optional<uint32_t> OrdinalOf(uint32_t family_id) const = 0;
  // Reads the present pair of a key. Returns NotFound if there is none, or none
  // that may be shown; a pair whose value does not match its entry's hash is
  // quarantined.
  virtual absl::Status ReadPair(uint32_t family, std::string_view key,
                                Pair* pair) const = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_REPLICA_VIEW_H_
