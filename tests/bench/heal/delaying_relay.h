// A long link on loopback: what comes in on one side goes out on the other some
// time later, and no faster than the link's rate.

#ifndef ROCKSYNC_TESTS_BENCH_HEAL_DELAYING_RELAY_H_
#define ROCKSYNC_TESTS_BENCH_HEAL_DELAYING_RELAY_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace rocksync::bench {

struct LinkOptions {
  std::chrono::microseconds one_way{0};
  double bytes_per_second = 0;  // in each direction
};

class DelayingRelay {
 public:
  virtual ~DelayingRelay() = default;
  // To be dialed instead of the target.
  virtual std::string address() const = 0;
};

// `target`: "127.0.0.1:port". Null, with the reason on stderr, if it cannot
// listen. A thread of its own carries what passes.
std::unique_ptr<DelayingRelay> NewDelayingRelay(const std::string& target,
                                                const LinkOptions& options);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_HEAL_DELAYING_RELAY_H_
