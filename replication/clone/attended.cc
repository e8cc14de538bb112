#include "replication/clone/attended.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

#include "replication/base/forked.h"
#include "replication/base/status.h"

namespace rocksync {
namespace {

using rocksdb::Status;

constexpr std::chrono::milliseconds kEvery{100};

// The state of one call of Attended that its two threads share.
class Attendance {
 public:
  explicit Attendance(const CloneOptions& clone) : clone_(clone) {
    given_.progress = [this](const CloneProgress& told) { Tell(told); };
    given_.cancelled = [this] { return cancelled_.load(); };
  }

  Status Run(const std::function<Status(const CloneOptions&)>& work) {
    Ask();  // a call that is cancelled beforehand does nothing
    Status result;
    std::thread thread;
    try {
      thread = std::thread([&] {
        result = work(given_);
        const std::lock_guard lock(mutex_);
        over_ = true;
        changed_.notify_all();
      });
    } catch (const std::system_error& error) {
      return NoThread(error.what());
    }
    Attend();
    thread.join();
    return result;
  }

 private:
  // Passes on progress. Called by the thread that does the work.
  void Tell(const CloneProgress& told) {
    std::unique_lock lock(mutex_);
    told_ = told;
    waits_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !waits_; });
  }

  void Attend() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait_for(lock, kEvery, [this] { return waits_ || over_; });
      if (over_) return;
      const std::optional<CloneProgress> told = told_;
      const bool waits = waits_;
      lock.unlock();
      if (told.has_value() && clone_.progress) clone_.progress(*told);
      Ask();
      if (::getpid() != process_) {
        EndForkedChild("a callback of a clone or resync");
      }
      lock.lock();
      if (!waits) continue;
      waits_ = false;
      changed_.notify_all();
    }
  }

  void Ask() {
    if (clone_.cancelled && clone_.cancelled()) cancelled_ = true;
  }

  const pid_t process_ = ::getpid();
  const CloneOptions& clone_;
  CloneOptions given_ = clone_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<CloneProgress> told_;
  bool waits_ = false;  // the work waits until its progress is passed on
  bool over_ = false;
};

}  // namespace

Status Attended(const CloneOptions& clone,
                const std::function<Status(const CloneOptions&)>& work) {
  return Attendance(clone).Run(work);
}

EndIfCancelled::EndIfCancelled(const std::function<bool()>& cancelled,
                               std::function<void()> end)
    : cancelled_(cancelled), end_(std::move(end)) {
  if (!cancelled_) return;
  try {
    thread_ = std::thread([this] { Watch(); });
  } catch (const std::system_error&) {
    // Without a thread, a wait ends by its timeout.
  }
}

EndIfCancelled::~EndIfCancelled() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void EndIfCancelled::Watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kEvery, [this] { return over_; })) {
    if (!cancelled_()) continue;
    end_();
    return;
  }
}

}  // namespace rocksync
