// The snapshot that a session compares: how long it serves, and what has to be
// durable before the peer hears of it.

#ifndef ROCKSYNC_REPLICATION_SESSION_SESSION_SNAPSHOT_H_
#define ROCKSYNC_REPLICATION_SESSION_SESSION_SNAPSHOT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "replication/session/finer_snapshot.h"
#include "replication/session/round_work.h"
#include "replication/session/session.h"
#include "replication/session/storage_view.h"

namespace rocksync {

// The context of every part of a session; all of it outlives the parts.
struct PartContext {
  const SessionContext* session = nullptr;
  const SessionOptions* options = nullptr;
  SessionReport* report = nullptr;
};

class SessionSnapshot {
 public:
  static absl::StatusOr<SessionSnapshot> Take(const PartContext& context);

  const StorageSnapshot& storage() const {
    return finer_ ? *finer_ : *storage_;
  }
  // Takes finer leaves of so many bits, and the storage's again. Neither may be
  // called while work on a batch uses the storage.
  absl::Status Refine(int bits);
  void Coarsen() { finer_.reset(); }
  // Returns the context for work on a batch; see RoundContext.
  RoundContext ForRound(LeafBatch* batch, uint64_t peer_count) const {
    return {.storage = context_.session->storage,
            .snapshot = &storage(),
            .cancelled = &context_.session->cancelled,
            .report = context_.report,
            .batch = batch,
            .peer_count = peer_count};
  }
  // Returns true if the snapshot is so old that the caller should start a new
  // session rather than begin something else.
  bool Expired() const;

  // Makes the snapshot durable, before a pair travels. Otherwise a crash could
  // take from the sender what the peer has got, and nobody would know
  // (design.md, "Tombstone garbage collection").
  absl::Status SyncSnapshot();
  // Makes durable, before a summary or a proof, what these say that this side
  // holds: the snapshot, what was applied, and what superseded a pair that
  // came. Neither function does anything in a session that only compares.
  absl::Status SyncReceived();

 private:
  SessionSnapshot(const PartContext& context,
                  std::unique_ptr<StorageSnapshot> storage, uint64_t taken_ms)
      : context_(context), storage_(std::move(storage)), taken_ms_(taken_ms) {}

  PartContext context_;
  std::unique_ptr<StorageSnapshot> storage_;
  std::unique_ptr<FinerSnapshot> finer_;
  uint64_t taken_ms_;
  std::optional<uint64_t> synced_pairs_;  // pairs received before the last Sync
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_SESSION_SNAPSHOT_H_
