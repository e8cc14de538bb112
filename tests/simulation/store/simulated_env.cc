#include "tests/simulation/store/simulated_env.h"

#include <chrono>
#include <ctime>
#include <utility>

#include "absl/strings/str_format.h"

namespace rocksync::store_simulation {
namespace {

// Who holds work and waits for it rests, and so does the whole process: of so
// much time, less than a hundredth is spent on a processor. On a machine that
// has much else to do, who computes still gets more than that.
constexpr std::chrono::milliseconds kRest{100};
constexpr int64_t kRestingUs = 1000;

int64_t ProcessorTimeUs() {
  timespec spent;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return spent.tv_sec * int64_t{1'000'000} + spent.tv_nsec / 1000;
}

}  // namespace

BackgroundWork::BackgroundWork() : thread_([this] { Run(); }) {}

BackgroundWork::~BackgroundWork() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void BackgroundWork::Add(void (*run)(void*), void* argument, void* tag,
                         void (*undo)(void*)) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back({run, argument, tag, undo});
  changed_.notify_all();
}

int BackgroundWork::Remove(void* tag) {
  std::deque<Job> removed;
  {
    const std::lock_guard lock(mutex_);
    for (auto job = jobs_.begin(); job != jobs_.end();) {
      if (job->tag != tag) {
        ++job;
        continue;
      }
      removed.push_back(*job);
      job = jobs_.erase(job);
    }
    changed_.notify_all();
  }
  for (const Job& job : removed) {
    if (job.undo != nullptr) job.undo(job.argument);
  }
  return static_cast<int>(removed.size());
}

void BackgroundWork::WaitUntilIdle() {
  std::unique_lock lock(mutex_);
  ++waiting_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return jobs_.empty() && !busy_; });
  --waiting_;
}

bool BackgroundWork::Hold(bool held) {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
  return std::exchange(held_, held);
}

void BackgroundWork::WaitUntilDue(std::unique_lock<std::mutex>* lock) {
  const auto due = [this] { return stop_ || waiting_ > 0 || !held_; };
  int64_t before = ProcessorTimeUs();
  while (!changed_.wait_for(*lock, kRest, due)) {
    const int64_t now = ProcessorTimeUs();
    if (now - before < kRestingUs) return;
    before = now;
  }
}

void BackgroundWork::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    WaitUntilDue(&lock);
    if (jobs_.empty()) continue;
    const Job job = jobs_.front();
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    job.run(job.argument);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

SimulatedEnv::SimulatedEnv(std::shared_ptr<rocksdb::FileSystem> disk,
                           std::shared_ptr<VirtualClock> clock,
                           BackgroundWork* work,
                           std::function<uint64_t()> random_bits)
    : EnvWrapper(rocksdb::NewCompositeEnv(disk)),
      clock_(std::move(clock)),
      work_(work),
      random_bits_(std::move(random_bits)) {
  file_system_ = std::move(disk);
  system_clock_ = clock_;
}

// As a UUID is written.
std::string SimulatedEnv::GenerateUniqueId() {
  const uint64_t a = random_bits_();
  const uint64_t b = random_bits_();
  return absl::StrFormat("%08x-%04x-%04x-%04x-%012x", a >> 32,
                         (a >> 16) & 0xffff, a & 0xffff, b >> 48,
                         b & 0xffffffffffffu);
}

}  // namespace rocksync::store_simulation
