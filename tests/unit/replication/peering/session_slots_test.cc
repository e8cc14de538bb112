#include "replication/peering/session_slots.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

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
