#include "replication/peering/repeated_failures.h"

#include <algorithm>
#include <utility>

namespace rocksync {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool RepeatedFailures::Note(uint64_t replica_id, const std::string& why,
                            Clock::time_point now, uint64_t* unlogged) {
  std::string kind = why;
  std::erase_if(kind, IsDigit);
  const std::lock_guard lock(mutex_);
  *unlogged = 0;
  const auto known = latest_.find(replica_id);
  if (known != latest_.end()) {
    Failure* const failure = &known->second;
    const bool same = failure->why == kind;
    if (same && now - failure->logged < kBetween) {
      ++failure->unlogged;
      return false;
    }
    if (same) *unlogged = failure->unlogged;
    *failure = {std::move(kind), now};
    return true;
  }
  if (latest_.size() >= kMaxPeers) {
    latest_.erase(std::min_element(latest_.begin(), latest_.end(),
                                   [](const auto& a, const auto& b) {
                                     return a.second.logged < b.second.logged;
                                   }));
  }
  latest_[replica_id] = {std::move(kind), now};
  return true;
}

void RepeatedFailures::NoteSuccess(uint64_t replica_id) {
  const std::lock_guard lock(mutex_);
  latest_.erase(replica_id);
}

}  // namespace rocksync
