#include "replication/session/session_snapshot.h"

namespace rocksync {

absl::StatusOr<SessionSnapshot> SessionSnapshot::Take(
    const PartContext& context) {
  absl::StatusOr<std::unique_ptr<StorageSnapshot>> storage =
      context.session->storage->TakeSnapshot(context.session->cancelled);
  if (!storage.ok()) return storage.status();
  context.report->left_out = (*storage)->LeftOut();
  return SessionSnapshot(context, *std::move(storage),
                         context.session->now_ms());
}

absl::Status SessionSnapshot::Refine(int bits) {
  absl::StatusOr<std::unique_ptr<FinerSnapshot>> finer =
      FinerSnapshot::Make(*storage_, bits, context_.session->cancelled);
  if (!finer.ok()) return finer.status();
  finer_ = *std::move(finer);
  for (const Digest& leaf : finer_->LeafDigests()) {
    context_.report->elements_compared += leaf.count;
  }
  return absl::OkStatus();
}

bool SessionSnapshot::Expired() const {
  return context_.session->now_ms() - taken_ms_ >
         context_.options->limits.max_snapshot_age_ms;
}

absl::Status SessionSnapshot::SyncSnapshot() {
  return synced_pairs_.has_value() ? absl::OkStatus() : SyncReceived();
}

absl::Status SessionSnapshot::SyncReceived() {
  const SessionReport& report = *context_.report;
  if (report.verifying) return absl::OkStatus();
  if (synced_pairs_ == report.pairs_received) return absl::OkStatus();
  synced_pairs_ = report.pairs_received;
  return context_.session->storage->Sync();
}

}  // namespace rocksync
