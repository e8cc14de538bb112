// The machine's clock, wrong by a number of milliseconds.

#ifndef ROCKSYNC_TESTS_SUPPORT_WRONG_CLOCK_H_
#define ROCKSYNC_TESTS_SUPPORT_WRONG_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "rocksdb/env.h"

namespace rocksync {

class WrongClock : public rocksdb::EnvWrapper {
 public:
  explicit WrongClock(rocksdb::Env* base = rocksdb::Env::Default())
      : EnvWrapper(base) {}
  uint64_t NowMicros() override {
    return target()->NowMicros() + ahead_ms.load() * 1000;
  }
  const char* Name() const override { return "WrongClock"; }
  std::atomic<uint64_t> ahead_ms{0};
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_WRONG_CLOCK_H_
