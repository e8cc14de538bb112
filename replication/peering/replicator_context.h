// The state that all threads of a replicator share.

#ifndef ROCKSYNC_REPLICATION_PEERING_REPLICATOR_CONTEXT_H_
#define ROCKSYNC_REPLICATION_PEERING_REPLICATOR_CONTEXT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "replication/peering/log.h"
#include "replication/peering/open_connections.h"
#include "replication/peering/session_slots.h"
#include "replication/peering/streams.h"
#include "replication/peering/token_bucket.h"
#include "replication/statistics/stats_board.h"
#include "replication/store/store_access.h"
#include "replication/store/write/callback_scope.h"
#include "rocksdb/env.h"
#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"
#include "rocksync/transport.h"

namespace rocksync {

struct ReplicatorContext {
  ReplicatorContext(const ReplicatorOptions& o, ReplicatedDB* d,
                    std::shared_ptr<Transport> t)
      : options(o),
        db(d),
        transport(std::move(t)),
        log(d->GetDBOptions().info_log),
        identity(d->Identity()),
        cluster_name(d->replication_options().cluster_name),
        indexed(StoreAccess::IndexedOf(d)),
        stats(identity.replica_id, o.peers,
              InScope(o.progress, Callback::kProgress)),
        streams(identity.replica_id, {.zone = o.zone}, FreshStreamSeed(),
                StoreAccess::ChangesOf(d)) {}

  const ReplicatorOptions options;
  ReplicatedDB* const db;
  const std::shared_ptr<Transport> transport;
  const std::shared_ptr<rocksdb::Logger> log;  // may be null
  const ReplicaIdentity identity;
  const std::string cluster_name;

  const IndexedDB* const indexed;

  // Wraps `callback` in a CallbackScope, so that library calls in it which
  // would wait for their own thread are detected.
  template <typename Told>
  std::function<void(const Told&)> InScope(
      std::function<void(const Told&)> callback, Callback kind) const {
    if (callback == nullptr) return nullptr;
    return
        [callback = std::move(callback), kind, of = indexed](const Told& told) {
          const CallbackScope scope(of, kind);
          callback(told);
        };
  }

  std::atomic<bool> stopping{false};
  const std::function<bool()> stopped = [this] { return stopping.load(); };
  SessionSlots slots;
  TokenBucket bytes;
  TokenBucket index_reads;
  // Charges index_reads and waits. Given to views.
  const ReadsDone pay_for_reads = [this](uint64_t reads,
                                         const std::function<bool()>& in_vain) {
    index_reads.Pay(reads, TokenBucket::Clock::duration::max(),
                    [&] { return stopped() || in_vain(); });
  };
  StatsBoard stats;
  SessionLog session_log;
  std::function<ScrubStats()> scrub_stats;  // set before threads start
  OpenConnections connections;
  Streams streams;

  // Returns true if this replica takes part in streams. Without an interval it
  // does not, since sessions have to bring what a stream misses.
  bool takes_streams() const {
    return options.stream && options.interval.count() > 0;
  }
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_REPLICATOR_CONTEXT_H_
