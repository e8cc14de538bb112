// What the stages of a comparison share: this side's set as of a snapshot, the
// leaves in which it differs from the peer's, and the exchanges over both.

#ifndef ROCKSYNC_REPLICATION_SESSION_COMPARISON_PARTS_H_
#define ROCKSYNC_REPLICATION_SESSION_COMPARISON_PARTS_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "replication/session/exchange_series.h"
#include "replication/session/leaf_locator.h"
#include "replication/session/listing.h"
#include "replication/session/location.h"
#include "replication/session/rounds.h"
#include "replication/session/session_snapshot.h"

namespace rocksync {

struct ComparisonParts {
  ComparisonParts(const PartContext& part_context, ExchangeSeries series,
                  SessionSnapshot session_snapshot)
      : context(part_context),
        exchanges(std::move(series)),
        snapshot(std::move(session_snapshot)),
        location(snapshot.storage().LeafDigests()),
        locator(context, &location, &exchanges) {}
  ComparisonParts(const ComparisonParts&) = delete;
  ComparisonParts& operator=(const ComparisonParts&) = delete;

  // Returns the context of the rounds of a batch. REQUIRES: this outlives them.
  RoundsContext ForRounds() {
    return {.part = context,
            .snapshot = &snapshot,
            .exchanges = &exchanges,
            .verify = &verify};
  }
  // Takes finer leaves of so many bits.
  absl::Status Refine(int bits) {
    const absl::Status status = snapshot.Refine(bits);
    if (status.ok()) location.Refine(snapshot.storage().LeafDigests());
    return status;
  }
  // Takes the storage's leaves again, if a search was in finer ones: see
  // Location. REQUIRES: no round and no search is open.
  void Coarsen(bool all_found) {
    location.Coarsen(all_found);
    snapshot.Coarsen();
  }
  // Returns whether this is more than this side compares at once.
  bool TooLarge(uint64_t elements) const {
    return elements > context.options->max_batch_elements;
  }

  const PartContext context;
  ExchangeSeries exchanges;
  SessionSnapshot snapshot;
  Location location;
  LeafLocator locator;
  VerifyProgress verify;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_COMPARISON_PARTS_H_
