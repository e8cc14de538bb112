#include "examples/replicated_store/tombstone_wait.h"

namespace rocksync {
namespace {

uint64_t AcknowledgedBy(uint64_t member, const TombstoneGcStats& stats) {
  for (const MemberStats& known : stats.members) {
    if (known.replica_id == member) return known.acknowledged_ms;
  }
  return 0;
}

}  // namespace

void TombstoneWait::Add(uint64_t now_ms, const TombstoneGcStats& stats) {
  const uint64_t acknowledged = AcknowledgedBy(stats.held_up_by, stats);
  const std::lock_guard lock(mutex_);
  if (stats.held_up_by == 0) {
    since_ms_ = 0;
  } else if (since_ms_ == 0 || member_ != stats.held_up_by ||
             acknowledged_ms_ != acknowledged) {
    since_ms_ = now_ms;
  }
  member_ = stats.held_up_by;
  acknowledged_ms_ = acknowledged;
}

uint64_t TombstoneWait::since_ms() const {
  const std::lock_guard lock(mutex_);
  return since_ms_;
}

}  // namespace rocksync
