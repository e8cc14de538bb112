#include "replication/peering/session_slots.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace rocksync {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kNow{0};
constexpr milliseconds kLong{60'000};

TEST(SessionSlots, OneByDefaultAndBackWhenItGoes) {
  SessionSlots slots;
  {
    const SessionSlot first = slots.Acquire(kNow);
    EXPECT_TRUE(first);
    EXPECT_FALSE(slots.Acquire(kNow));
  }
  EXPECT_TRUE(slots.Acquire(kNow));
}

TEST(SessionSlots, MovingDoesNotGiveBackTwice) {
  SessionSlots slots;
  slots.SetCapacity(2);
  SessionSlot first = slots.Acquire(kNow);
  SessionSlot moved = std::move(first);
  SessionSlot empty;
  empty = std::move(moved);
  EXPECT_TRUE(empty);
  const SessionSlot second = slots.Acquire(kNow);
  EXPECT_TRUE(second);
  EXPECT_FALSE(slots.Acquire(kNow));
}

// Each session is of a link that carries so much in a second.
class SlowLinks : public ::testing::Test {
 protected:
  SessionSlot Begin(const uint64_t* bytes) {
    SessionSlot slot = slots_.Acquire(kNow);
    slot.Watch([bytes] { return *bytes; });
    return slot;
  }
  void Pass(std::chrono::seconds time) { now_ += time; }

  SessionSlots::Clock::time_point now_{std::chrono::hours(1)};
  SessionSlots slots_{kNow, [this] { return now_; }};
};

TEST_F(SlowLinks, KeepNobodyOut) {
  uint64_t bytes = 1'000'000;
  const SessionSlot slow = Begin(&bytes);
  bytes += 40'000;
  Pass(std::chrono::seconds(4));
  EXPECT_FALSE(slots_.Acquire(kNow)) << "too soon to tell";
  Pass(std::chrono::seconds(1));
  const SessionSlot other = slots_.Acquire(kNow);
  EXPECT_TRUE(other);
  EXPECT_FALSE(slots_.Acquire(kNow)) << "that one is not known to be slow";
}

TEST_F(SlowLinks, AreThreeAtMost) {
  uint64_t bytes = 0;
  std::vector<SessionSlot> slow;
  for (int i = 0; i < 4; ++i) {
    slow.push_back(Begin(&bytes));
    EXPECT_TRUE(slow.back());
    bytes += 40'000;
    Pass(std::chrono::seconds(6));
  }
  EXPECT_FALSE(slots_.Acquire(kNow));
  slow.pop_back();
  EXPECT_TRUE(slots_.Acquire(kNow));
}

TEST_F(SlowLinks, AreNeitherFastNorSilent) {
  uint64_t bytes = 0;
  const SessionSlot session = Begin(&bytes);
  for (const uint64_t moved : {uint64_t{20} << 20, uint64_t{100}}) {
    bytes += moved;
    Pass(std::chrono::seconds(10));
    EXPECT_FALSE(slots_.Acquire(kNow)) << moved;
  }
}

TEST(SessionSlots, WaitsForOneToComeBack) {
  SessionSlots slots;
  auto first = std::make_unique<SessionSlot>(slots.Acquire(kNow));
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(20));
    first.reset();
  });
  EXPECT_TRUE(slots.Acquire(kLong));
  other.join();
}

TEST(SessionSlots, NoneWhilePausedAndNoWaiting) {
  SessionSlots slots;
  slots.SetPaused(true);
  EXPECT_TRUE(slots.paused());
  EXPECT_FALSE(slots.Acquire(kLong));
  slots.SetPaused(false);
  EXPECT_TRUE(slots.Acquire(kNow));
}

TEST(SessionSlots, StopWakesWhoWaits) {
  SessionSlots slots;
  const SessionSlot first = slots.Acquire(kNow);
  std::thread stopper([&] {
    std::this_thread::sleep_for(milliseconds(20));
    slots.Stop();
  });
  // One that is not woken waits until CTest ends the program.
  EXPECT_FALSE(slots.Acquire(std::chrono::hours(24)));
  stopper.join();
}

TEST(SessionSlots, LessCapacityDoesNotInterrupt) {
  SessionSlots slots;
  slots.SetCapacity(3);
  const SessionSlot first = slots.Acquire(kNow);
  const SessionSlot second = slots.Acquire(kNow);
  slots.SetCapacity(1);
  EXPECT_FALSE(slots.Acquire(kNow));
  slots.SetCapacity(3);
  EXPECT_TRUE(slots.Acquire(kNow));
}

TEST(SessionSlots, ARefusedPeerGoesFirst) {
  SessionSlots slots(/*courtesy=*/kLong);
  {
    const SessionSlot own = slots.Acquire(kNow);
    EXPECT_FALSE(slots.AcquireForIncoming(kNow));
  }
  EXPECT_FALSE(slots.Acquire(kNow));
  std::thread own([&] { EXPECT_TRUE(slots.Acquire(2 * kLong)); });
  EXPECT_TRUE(slots.AcquireForIncoming(kNow));
  own.join();  // in its turn, long before the courtesy ends
  EXPECT_TRUE(slots.Acquire(kNow));
}

TEST(SessionSlots, AnIncomingPeerThatStaysAwayIsNotWaitedForLong) {
  SessionSlots slots(/*courtesy=*/milliseconds(20));
  {
    const SessionSlot own = slots.Acquire(kNow);
    EXPECT_FALSE(slots.AcquireForIncoming(kNow));
  }
  EXPECT_TRUE(slots.Acquire(kLong));
}

TEST(SessionSlots, WhoIsRefusedWhilePausedIsNotExpected) {
  SessionSlots slots(/*courtesy=*/kLong);
  slots.SetPaused(true);
  EXPECT_FALSE(slots.AcquireForIncoming(kNow));
  slots.SetPaused(false);
  EXPECT_TRUE(slots.Acquire(kNow));
}

}  // namespace
}  // namespace rocksync
