// One page for all clients that ask at once.

#ifndef ROCKSYNC_TOOLS_SHARED_PAGE_H_
#define ROCKSYNC_TOOLS_SHARED_PAGE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace rocksync {

// A client that asks while a page is made gets the next one, if it has as much
// time left as the one before took, else that one. Thread-safe.
class SharedPage {
 public:
  // Makes a page within this time, if there is one. Called by one of the
  // threads in Get.
  using Make =
      std::function<std::string(std::optional<std::chrono::milliseconds> time)>;

  explicit SharedPage(Make make);

  // A page is being made, which may take longer than `time` from now.
  bool IsBusyFor(std::chrono::milliseconds time);

  // `time`: how long the client waits, if it says.
  std::string Get(std::optional<std::chrono::milliseconds> time);

 private:
  using Clock = std::chrono::steady_clock;

  bool IsBeingMade() const { return begun_ != made_; }
  void MakeNext(std::optional<std::chrono::milliseconds> time,
                std::unique_lock<std::mutex>* lock);

  const Make make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t begun_ = 0;
  uint64_t made_ = 0;
  Clock::duration took_{};
  Clock::time_point end_;  // of the latest one, at the latest
  std::string page_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_SHARED_PAGE_H_
