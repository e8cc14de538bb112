// What a replica's RocksDB runs on: a disk in memory, virtual time, and work
// in the background that can be waited for.

#ifndef ROCKSYNC_TESTS_SIMULATION_STORE_SIMULATED_ENV_H_
#define ROCKSYNC_TESTS_SIMULATION_STORE_SIMULATED_ENV_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/system_clock.h"

namespace rocksync::store_simulation {

// The wall clock of one machine. Thread-safe.
class VirtualClock final : public rocksdb::SystemClock {
 public:
  const char* Name() const override { return "VirtualClock"; }
  uint64_t NowMicros() override { return now_us_; }
  // Nobody sleeps, but time passes, or who waits would wait without end.
  void SleepForMicroseconds(int micros) override {
    if (micros > 0) now_us_ += static_cast<uint64_t>(micros);
  }
  rocksdb::Status GetCurrentTime(int64_t* unix_time) override {
    *unix_time = static_cast<int64_t>(now_us_ / 1'000'000);
    return rocksdb::Status::OK();
  }
  std::string TimeToString(uint64_t time) override {
    return std::to_string(time);
  }

  void Set(uint64_t now_ms) { now_us_ = now_ms * 1000; }
  uint64_t NowMs() const { return now_us_ / 1000; }

 private:
  std::atomic<uint64_t> now_us_{0};
};

// Flushes and compactions of all replicas, one at a time in the order in which
// they were asked for. Thread-safe.
class BackgroundWork {
 public:
  BackgroundWork();
  ~BackgroundWork();

  void Add(void (*run)(void*), void* argument, void* tag, void (*undo)(void*));
  // Those that have not begun. Returns how many.
  int Remove(void* tag);
  // Returns once nothing is to be done.
  void WaitUntilIdle();

  // While it is held, what is added waits until somebody waits for it, so that
  // it runs at the same moment whenever a seed is run; or until nothing in the
  // process goes on, as who holds it may wait for it too. Returns what was so
  // before.
  bool Hold(bool held);

 private:
  struct Job {
    void (*run)(void*);
    void* argument;
    void* tag;
    void (*undo)(void*);
  };
  void Run();
  // Until the first job may run.
  void WaitUntilDue(std::unique_lock<std::mutex>* lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool busy_ = false;
  bool held_ = false;
  int waiting_ = 0;  // in WaitUntilIdle
  bool stop_ = false;
  std::thread thread_;
};

// Holds it, or not, as long as this lives.
class WorkHold {
 public:
  WorkHold(BackgroundWork* work, bool held)
      : work_(work), before_(work->Hold(held)) {}
  ~WorkHold() { work_->Hold(before_); }
  WorkHold(const WorkHold&) = delete;
  WorkHold& operator=(const WorkHold&) = delete;

 private:
  BackgroundWork* const work_;
  const bool before_;
};

// Everything must outlive it.
class SimulatedEnv final : public rocksdb::EnvWrapper {
 public:
  SimulatedEnv(std::shared_ptr<rocksdb::FileSystem> disk,
               std::shared_ptr<VirtualClock> clock, BackgroundWork* work,
               std::function<uint64_t()> random_bits);

  void Schedule(void (*run)(void*), void* argument, Priority priority,
                void* tag, void (*undo)(void*)) override {
    work_->Add(run, argument, tag, undo);
  }
  int UnSchedule(void* tag, Priority priority) override {
    return work_->Remove(tag);
  }
  unsigned int GetThreadPoolQueueLen(Priority priority) const override {
    return 0;
  }
  void SetBackgroundThreads(int number, Priority priority) override {}
  int GetBackgroundThreads(Priority priority) override { return 1; }
  void IncBackgroundThreadsIfNeeded(int number, Priority priority) override {}
  int ReserveThreads(int threads, Priority priority) override { return 0; }
  int ReleaseThreads(int threads, Priority priority) override { return 0; }

  uint64_t NowMicros() override { return clock_->NowMicros(); }
  uint64_t NowNanos() override { return clock_->NowNanos(); }
  uint64_t NowCPUNanos() override { return 0; }
  void SleepForMicroseconds(int micros) override {
    clock_->SleepForMicroseconds(micros);
  }
  rocksdb::Status GetCurrentTime(int64_t* unix_time) override {
    return clock_->GetCurrentTime(unix_time);
  }
  std::string GenerateUniqueId() override;

 private:
  const std::shared_ptr<VirtualClock> clock_;
  BackgroundWork* const work_;
  const std::function<uint64_t()> random_bits_;
};

}  // namespace rocksync::store_simulation

#endif  // ROCKSYNC_TESTS_SIMULATION_STORE_SIMULATED_ENV_H_
