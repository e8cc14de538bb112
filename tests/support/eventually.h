// Waiting for what other threads bring about.

#ifndef ROCKSYNC_TESTS_SUPPORT_EVENTUALLY_H_
#define ROCKSYNC_TESTS_SUPPORT_EVENTUALLY_H_

#include <chrono>
#include <functional>
#include <thread>

namespace rocksync {

// Waits, long enough for a slow machine, until `condition` holds.
inline bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_EVENTUALLY_H_
