// Since when one member holds up the collection of tombstones, for the status
// page.

#ifndef EXAMPLES_REPLICATED_STORE_TOMBSTONE_WAIT_H_
#define EXAMPLES_REPLICATED_STORE_TOMBSTONE_WAIT_H_

#include <cstdint>
#include <mutex>

#include "rocksync/stats.h"

namespace rocksync {

// Between two sessions some member's acknowledgement is always the oldest. One
// that acknowledges again begins to wait anew. Thread-safe.
class TombstoneWait {
 public:
  // What was so at `now_ms`, milliseconds since the Unix epoch.
  void Add(uint64_t now_ms, const TombstoneGcStats& stats);

  // As of the latest Add; 0: nobody holds anything up.
  uint64_t since_ms() const;

 private:
  mutable std::mutex mutex_;
  uint64_t member_ = 0;
  uint64_t acknowledged_ms_ = 0;
  uint64_t since_ms_ = 0;
};

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_TOMBSTONE_WAIT_H_
