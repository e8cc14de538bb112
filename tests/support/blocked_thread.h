// Waits until a thread of this process is blocked, so that a test can act while
// a call waits that tells nobody that it does. Linux.

#ifndef ROCKSYNC_TESTS_SUPPORT_BLOCKED_THREAD_H_
#define ROCKSYNC_TESTS_SUPPORT_BLOCKED_THREAD_H_

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace rocksync {

// False: in a minute it was never found asleep at two looks in a row, with no
// wake-up in between. Looks are so far apart that a lock which a thread holds
// for a moment is not taken for a wait. `thread`: of gettid().
inline bool AwaitBlocked(pid_t thread) {
  constexpr std::chrono::milliseconds kBetweenLooks{10};
  const std::string file =
      "/proc/self/task/" + std::to_string(thread) + "/status";
  std::string before;
  for (int looks = 0; looks < 6000; ++looks) {
    std::string asleep_since;
    std::ifstream status(file);
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("State:") &&
          line.find('S', 6) == std::string::npos) {
        break;
      }
      if (line.starts_with("voluntary_ctxt_switches:")) asleep_since = line;
    }
    if (!asleep_since.empty() && asleep_since == before) return true;
    before = asleep_since;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return false;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_BLOCKED_THREAD_H_
