#include "tests/simulation/shape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "replication/reconcile/exchange_sketch.h"
#include "sketch/pinsketch/syndrome_decoder.h"
#include "tests/simulation/random.h"

namespace rocksync {

namespace {

// Values that together are far more than a session may hold. Of its own chance,
// so that other seeds stay what they are.
void DrawMemory(uint64_t seed, ClusterShape* shape) {
  Random random(seed ^ 0x3e3041);
  if (!random.OneIn(4)) return;
  shape->session_bytes =
      DecodingBytes(kMaxSums) + (random.Between(320, 640) << 10);
  shape->value_bytes = random.Between(500, 4000);
  shape->keys = std::max<size_t>(shape->keys, random.Between(100, 300));
  BoundMemory(shape->session_bytes, size_t{1} << kLeafBitsHere,
              &shape->session);
}

// Of its own chance too. What only a newer list in the wrong hands brings
// about, or a loss of power at the wrong moment.
void DrawGc(uint64_t seed, ClusterShape* shape) {
  Random random(seed ^ 0xf03937);
  if (random.OneIn(4)) {
    shape->old_copy_every_ms = random.Between(5000, 20'000);
  }
  if (random.OneIn(4)) {
    shape->crash_shipper_one_in = random.Between(2, 10);
    shape->sync_every_write = false;
    shape->replicas = std::max<size_t>(shape->replicas, 3);
  }
}

// Of its own chance too. Values in answers, without being asked for.
void DrawStreamedValues(uint64_t seed, SessionOptions* session) {
  Random random(seed ^ 0x57e3a9);
  if (random.OneIn(3))
    session->limits.max_streamed_bytes = random.Between(0, 20'000);
}

// Of its own chance too. Small enough for windows to close, and for logs to
// overflow.
void DrawStreams(uint64_t seed, ClusterShape* shape) {
  Random random(seed ^ 0x57e4b1);
  shape->streams = !random.OneIn(4);
  shape->zones = random.OneIn(3);
  shape->stream_window =
      random.OneIn(2) ? uint64_t{1} << 20 : random.Between(100, 5000);
  shape->stream_buffer_bytes =
      random.OneIn(3) ? size_t{8} << 20 : random.Between(500, 8000);
}

// The replicas of a zone must be connected with one another. Who joins and
// copies are connected with few, and who is left by others with one.
bool MayHaveZones(const ClusterShape& shape) {
  return shape.links == ClusterShape::Links::kMesh &&
         shape.copy_every_ms == 0 && shape.join_every_ms == 0 &&
         shape.old_copy_every_ms == 0 && shape.remove_every_ms == 0;
}

// Of its own chance too. Sets of several batches, and sessions that search for
// leaves by parities, and in finer leaves.
void DrawEagerParities(uint64_t seed, ClusterShape* shape) {
  Random random(seed ^ 0x57e8b9);
  if (!random.OneIn(6)) return;
  shape->keys = random.Between(60, 300);
  shape->write_every_ms = std::min<uint64_t>(shape->write_every_ms, 100);
  shape->session.eager_parities = true;
  shape->session.max_batch_elements = random.Between(10, 40);
  shape->session.exchange.mode = ExchangeMode::kAdaptive;
  shape->session.exchange.prefer = Prefer::kBytes;
}

ClusterShape Drawn(uint64_t seed) {
  Random random(seed);
  ClusterShape shape;
  shape.replicas = random.Between(2, 7);
  shape.keys =
      random.OneIn(4) ? random.Between(50, 300) : random.Between(2, 20);
  shape.families = static_cast<uint32_t>(random.Between(1, 2));
  shape.links = static_cast<ClusterShape::Links>(random.Below(3));
  shape.sync_every_write = random.OneIn(3);
  shape.incoming_at_once = random.OneIn(3);
  shape.write_every_ms = random.OneIn(3) ? 50 : random.Between(200, 1500);
  if (random.OneIn(3)) shape.max_skew_ms = random.Between(1, 300'000);
  if (random.OneIn(2)) shape.lose_one_in = random.Between(30, 400);
  if (random.OneIn(2)) shape.break_one_in = random.Between(30, 400);
  if (random.OneIn(2)) shape.slow_one_in = random.Between(5, 50);
  if (random.OneIn(2)) shape.crash_every_ms = random.Between(3000, 30'000);
  if (random.OneIn(2)) shape.partition_every_ms = random.Between(2000, 20'000);
  if (random.OneIn(3)) shape.fail_write_every_ms = random.Between(2000, 20'000);
  if (random.OneIn(6)) shape.large_value = random.Between(100, 400'000);
  SessionOptions& session = shape.session;
  session.exchange.mode =
      random.OneIn(3) ? ExchangeMode::kBloom : ExchangeMode::kAdaptive;
  session.exchange.prefer =
      random.OneIn(3) ? Prefer::kRoundTrips : Prefer::kBytes;
  session.exchange.false_positive_rate = random.OneIn(2) ? 0.5 : 0.05;
  // Four times as many are the most that a leaf may hold.
  if (random.OneIn(4)) {
    session.max_batch_elements = std::max<size_t>(8, random.Between(1, 50));
  }
  if (random.OneIn(3)) session.max_turn_bytes = random.Between(20, 5000);
  if (random.OneIn(3))
    session.limits.inline_value_bytes = random.Between(1, 64);
  if (random.OneIn(6))
    session.limits.max_snapshot_age_ms = random.Between(50, 2000);
  if (random.OneIn(5)) shape.rollback_every_ms = random.Between(5000, 30'000);
  if (random.OneIn(5)) shape.copy_every_ms = random.Between(5000, 30'000);
  shape.keeps_links = random.OneIn(2);
  if (random.OneIn(5)) shape.corrupt_every_ms = random.Between(1000, 20'000);
  DrawMemory(seed, &shape);
  DrawStreamedValues(seed, &session);
  DrawEagerParities(seed, &shape);
  DrawStreams(seed, &shape);
  shape.members = !random.OneIn(3);
  if (!shape.members) return shape;
  // Time for tombstones to go while writes go on.
  shape.faulty_ms = random.Between(30'000, 80'000);
  shape.interval_ms = random.Between(1000, 5000);
  if (random.OneIn(2)) shape.write_every_ms = random.Between(100, 3000);
  if (random.OneIn(3)) shape.join_every_ms = random.Between(10'000, 40'000);
  if (random.OneIn(3)) shape.remove_every_ms = random.Between(10'000, 40'000);
  if (random.OneIn(3)) shape.absent_every_ms = random.Between(10'000, 40'000);
  DrawGc(seed, &shape);
  return shape;
}

}  // namespace

ClusterShape ShapeOf(uint64_t seed) {
  ClusterShape shape = Drawn(seed);
  shape.zones &= MayHaveZones(shape);
  return shape;
}

std::string Describe(const ClusterShape& shape) {
  static constexpr const char* kLinks[] = {"mesh", "ring", "star"};
  return absl::StrCat(
      shape.replicas, " replicas in a ", kLinks[static_cast<int>(shape.links)],
      ", ", shape.keys, " keys, ",
      shape.session.exchange.mode == ExchangeMode::kBloom ? "bloom"
                                                          : "adaptive",
      shape.sync_every_write ? ", synced" : "", ", batches of ",
      shape.session.max_batch_elements, ", turns of ",
      shape.session.max_turn_bytes, " and of ",
      shape.session.limits.max_streamed_bytes, " with values",
      shape.session.eager_parities ? ", eager parities" : "", ", sessions of ",
      shape.session_bytes >> 10, " KiB, skew ", shape.max_skew_ms,
      " ms, a crash every ", shape.crash_every_ms, " ms, a rollback every ",
      shape.rollback_every_ms, " ms, a copy every ", shape.copy_every_ms,
      " ms, corruption every ", shape.corrupt_every_ms,
      shape.members ? " ms, members" : " ms", ", one joins every ",
      shape.join_every_ms, " ms, one goes every ", shape.remove_every_ms,
      " ms, one is absent every ", shape.absent_every_ms,
      " ms, an old copy every ", shape.old_copy_every_ms,
      " ms, a crash after one in ", shape.crash_shipper_one_in, " pairs, ",
      !shape.streams
          ? "no streams"
          : absl::StrCat("streams with ", shape.stream_window,
                         " bytes under way and ", shape.stream_buffer_bytes,
                         " kept", shape.zones ? ", two zones" : ""));
}

}  // namespace rocksync
