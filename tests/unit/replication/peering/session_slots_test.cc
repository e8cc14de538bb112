#include "replication/peering/session_slots.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
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
    const SessionSlot first = slots.Acquire(1, kNow);
    EXPECT_TRUE(first);
    EXPECT_FALSE(slots.Acquire(2, kNow));
  }
  EXPECT_TRUE(slots.Acquire(3, kNow));
}

TEST(SessionSlots, MovingDoesNotGiveBackTwice) {
  SessionSlots slots;
  slots.SetCapacity(2);
  SessionSlot first = slots.Acquire(4, kNow);
  SessionSlot moved = std::move(first);
  SessionSlot empty;
  empty = std::move(moved);
  EXPECT_TRUE(empty);
  const SessionSlot second = slots.Acquire(5, kNow);
  EXPECT_TRUE(second);
  EXPECT_FALSE(slots.Acquire(6, kNow));
}

class SlowLinks : public ::testing::Test {
 protected:
  SessionSlot Begin(const SessionSlot::Progress* progress) {
    SessionSlot slot = slots_.Acquire(++peer_, kNow);
    slot.Watch([progress] { return *progress; });
    return slot;
  }
  bool AnotherMayBegin() {
    return static_cast<bool>(slots_.Acquire(++peer_, kNow));
  }
  void Pass(std::chrono::seconds time) { now_ += time; }

  uint64_t peer_ = 0;
  SessionSlots::Clock::time_point now_{std::chrono::hours(1)};
  SessionSlots slots_{kNow, [this] { return now_; }};
  SessionSlot::Progress progress_{.bytes = 1'000'000, .only_sends = true};
};

TEST_F(SlowLinks, KeepNobodyOut) {
  const SessionSlot slow = Begin(&progress_);
  progress_.bytes += 40'000;
  Pass(std::chrono::seconds(4));
  EXPECT_FALSE(AnotherMayBegin()) << "too soon to tell";
  Pass(std::chrono::seconds(1));
  EXPECT_FALSE(slots_.Acquire(peer_ - 1, kNow)) << "nor a second with the peer";
  const SessionSlot other = slots_.Acquire(++peer_, kNow);
  EXPECT_TRUE(other);
  EXPECT_FALSE(AnotherMayBegin()) << "that one is not known to be slow";
}

TEST_F(SlowLinks, AreThreeAtMost) {
  std::vector<SessionSlot> slow;
  for (int i = 0; i < 4; ++i) {
    slow.push_back(Begin(&progress_));
    EXPECT_TRUE(slow.back());
    Pass(std::chrono::seconds(6));
  }
  EXPECT_FALSE(AnotherMayBegin());
  slow.pop_back();
  EXPECT_TRUE(AnotherMayBegin());
}

TEST_F(SlowLinks, AreNotFast) {
  const SessionSlot session = Begin(&progress_);
  progress_.bytes += uint64_t{20} << 20;
  Pass(std::chrono::seconds(10));
  EXPECT_FALSE(AnotherMayBegin());
}

// Others might bring the same.
TEST_F(SlowLinks, KeepOthersOutWhereThisSideReceives) {
  progress_.only_sends = false;
  const SessionSlot session = Begin(&progress_);
  progress_.bytes += 40'000;
  Pass(std::chrono::seconds(10));
  EXPECT_FALSE(AnotherMayBegin());
}

// This side has sent its last bytes, and waits since then.
class SilentPeers : public SlowLinks {
 protected:
  SilentPeers() { progress_ = {.bytes = 1'000}; }
  SessionSlot BeginAndWait() {
    SessionSlot slot = Begin(&progress_);
    progress_.bytes += 100;
    progress_.peer_wait = {now_, progress_.bytes};
    return slot;
  }
};

TEST_F(SilentPeers, KeepNobodyOut) {
  const SessionSlot frozen = BeginAndWait();
  EXPECT_FALSE(AnotherMayBegin());
  Pass(std::chrono::seconds(1));
  EXPECT_FALSE(AnotherMayBegin()) << "too soon to tell";
  Pass(std::chrono::seconds(1));
  EXPECT_FALSE(slots_.Acquire(peer_ - 2, kNow)) << "nor a second with the peer";
  const SessionSlot other = slots_.Acquire(++peer_, kNow);
  EXPECT_TRUE(other);
  EXPECT_FALSE(AnotherMayBegin());
}

TEST_F(SilentPeers, AreToldToWhoLooksForTheFirstTime) {
  const SessionSlot frozen = BeginAndWait();
  const uint64_t peer = peer_;
  Pass(std::chrono::seconds(8));
  EXPECT_EQ(slots_.SilentFor(peer), std::chrono::seconds(8));
  EXPECT_EQ(slots_.SilentFor(peer + 1), kNow);
  EXPECT_TRUE(AnotherMayBegin());
}

TEST_F(SilentPeers, AreNotThoseOfWhomAByteComes) {
  const SessionSlot session = BeginAndWait();
  for (int second = 0; second < 10; ++second) {
    ++progress_.bytes;
    Pass(std::chrono::seconds(1));
    EXPECT_FALSE(AnotherMayBegin()) << second;
  }
}

// As one that freezes while it sends a long message.
TEST_F(SilentPeers, AreThoseWhoStopInTheMiddle) {
  const SessionSlot session = BeginAndWait();
  const uint64_t peer = peer_;
  ++progress_.bytes;
  Pass(std::chrono::seconds(10));
  EXPECT_EQ(slots_.SilentFor(peer), kNow) << "it may have come just now";
  Pass(std::chrono::seconds(2));
  EXPECT_EQ(slots_.SilentFor(peer), std::chrono::seconds(2));
  EXPECT_TRUE(AnotherMayBegin());
}

// As in a stall of RocksDB here: the peer has nothing to say.
TEST_F(SilentPeers, AreNotThoseWhoWaitForThisSide) {
  const SessionSlot session = BeginAndWait();
  progress_.peer_wait.reset();
  Pass(std::chrono::seconds(10));
  EXPECT_FALSE(AnotherMayBegin());
}

TEST_F(SilentPeers, KeepOthersOutAgainOnceTheyGoOn) {
  const SessionSlot session = BeginAndWait();
  Pass(std::chrono::seconds(3));
  EXPECT_TRUE(AnotherMayBegin());
  ++progress_.bytes;
  EXPECT_FALSE(AnotherMayBegin());
}

TEST(SessionSlots, OneWithEachPeer) {
  SessionSlots slots;
  slots.SetCapacity(3);
  const SessionSlot first = slots.Acquire(7, kNow);
  EXPECT_TRUE(first);
  EXPECT_FALSE(slots.Acquire(7, kNow));
  EXPECT_FALSE(slots.AcquireForIncoming(7, kNow));
}

// Who is kept out looks at the clock, to tell whether the others are slow, and
// holds the slots' lock from then on until it waits: a call that needs the lock
// comes once it does.
class WaitingForASlot : public ::testing::Test {
 protected:
  void AwaitWaiter() { ASSERT_EQ(waits_.get_future().wait_for(kLong), kReady); }

  static constexpr std::future_status kReady = std::future_status::ready;
  std::once_flag once_;
  std::promise<void> waits_;
  SessionSlots slots_{kNow, [this] {
                        std::call_once(once_, [this] { waits_.set_value(); });
                        return SessionSlots::Clock::time_point();
                      }};
};

TEST_F(WaitingForASlot, EndsWhenOneComesBack) {
  auto first = std::make_unique<SessionSlot>(slots_.Acquire(7, kNow));
  std::thread other([&] {
    AwaitWaiter();
    first.reset();
  });
  EXPECT_TRUE(slots_.Acquire(8, kLong));
  other.join();
}

TEST_F(WaitingForASlot, EndsWithStop) {
  const SessionSlot first = slots_.Acquire(11, kNow);
  std::thread stopper([this] {
    AwaitWaiter();
    slots_.Stop();
  });
  // One that is not woken waits until CTest ends the program.
  EXPECT_FALSE(slots_.Acquire(12, std::chrono::hours(24)));
  stopper.join();
}

TEST(SessionSlots, NoneWhilePausedAndNoWaiting) {
  SessionSlots slots;
  slots.SetPaused(true);
  EXPECT_TRUE(slots.paused());
  EXPECT_FALSE(slots.Acquire(9, kLong));
  slots.SetPaused(false);
  EXPECT_TRUE(slots.Acquire(10, kNow));
}

TEST(SessionSlots, LessCapacityDoesNotInterrupt) {
  SessionSlots slots;
  slots.SetCapacity(3);
  const SessionSlot first = slots.Acquire(13, kNow);
  const SessionSlot second = slots.Acquire(14, kNow);
  slots.SetCapacity(1);
  EXPECT_FALSE(slots.Acquire(15, kNow));
  slots.SetCapacity(3);
  EXPECT_TRUE(slots.Acquire(16, kNow));
}

TEST(SessionSlots, ARefusedPeerGoesFirst) {
  SessionSlots slots(/*courtesy=*/kLong);
  {
    const SessionSlot own = slots.Acquire(17, kNow);
    EXPECT_FALSE(slots.AcquireForIncoming(18, kNow));
  }
  EXPECT_FALSE(slots.Acquire(19, kNow));
  std::thread own([&] { EXPECT_TRUE(slots.Acquire(20, 2 * kLong)); });
  EXPECT_TRUE(slots.AcquireForIncoming(21, kNow));
  own.join();  // in its turn, long before the courtesy ends
  EXPECT_TRUE(slots.Acquire(22, kNow));
}

TEST(SessionSlots, AnIncomingPeerThatStaysAwayIsNotWaitedForLong) {
  SessionSlots slots(/*courtesy=*/milliseconds(20));
  {
    const SessionSlot own = slots.Acquire(23, kNow);
    EXPECT_FALSE(slots.AcquireForIncoming(24, kNow));
  }
  EXPECT_TRUE(slots.Acquire(25, kLong));
}

TEST(SessionSlots, WhoIsRefusedWhilePausedIsNotExpected) {
  SessionSlots slots(/*courtesy=*/kLong);
  slots.SetPaused(true);
  EXPECT_FALSE(slots.AcquireForIncoming(26, kNow));
  slots.SetPaused(false);
  EXPECT_TRUE(slots.Acquire(27, kNow));
}

}  // namespace
}  // namespace rocksync
