// What a replica's traffic was, second by second, for the status page.

#ifndef EXAMPLES_REPLICATED_STORE_TRAFFIC_HISTORY_H_
#define EXAMPLES_REPLICATED_STORE_TRAFFIC_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "rocksync/stats.h"

namespace rocksync {

// Thread-safe.
class TrafficHistory {
 public:
  static constexpr size_t kSamples = 300;  // kept; the oldest go

  // What was added up until `now_ms`, milliseconds since the Unix epoch.
  void Add(uint64_t now_ms, const ReplicationStats& totals);

  // A JSON array of what each interval between two samples brought, oldest
  // first: {"ms": its end, "filters", "offers", "keys", "values", "other":
  // bytes of sessions by kind, "streams": bytes of streams, "pairs": sent and
  // received by either}.
  std::string Json() const;

 private:
  struct Sample {
    uint64_t ms = 0;
    uint64_t filters = 0;
    uint64_t offers = 0;
    uint64_t keys = 0;
    uint64_t values = 0;
    uint64_t total = 0;  // of sessions
    uint64_t streams = 0;
    uint64_t pairs = 0;
  };
  mutable std::mutex mutex_;
  std::deque<Sample> samples_;
};

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_TRAFFIC_HISTORY_H_
