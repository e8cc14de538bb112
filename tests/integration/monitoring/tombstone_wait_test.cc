#include "examples/replicated_store/tombstone_wait.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "rocksync/stats.h"

namespace rocksync {
namespace {

constexpr uint64_t kB = 0xb;
constexpr uint64_t kC = 0xc;

TombstoneGcStats HeldUpBy(uint64_t member, uint64_t acknowledged_ms) {
  TombstoneGcStats stats;
  stats.held_up_by = member;
  for (const uint64_t id : {kB, kC}) {
    MemberStats& known = stats.members.emplace_back();
    known.replica_id = id;
    known.acknowledged_ms = id == member ? acknowledged_ms : 77;
  }
  return stats;
}

TEST(TombstoneWaitTest, AMemberThatStaysHasHeldUpSinceItBegan) {
  TombstoneWait wait;
  EXPECT_EQ(wait.since_ms(), 0u);
  wait.Add(1000, HeldUpBy(kB, 5));
  wait.Add(2000, HeldUpBy(kB, 5));
  EXPECT_EQ(wait.since_ms(), 1000u);
}

TEST(TombstoneWaitTest, AnAcknowledgementAnotherMemberAndNobodyBeginAnew) {
  TombstoneWait wait;
  wait.Add(1000, HeldUpBy(kB, 0));
  wait.Add(2000, HeldUpBy(kB, 5));
  EXPECT_EQ(wait.since_ms(), 2000u);
  wait.Add(3000, HeldUpBy(kC, 5));
  EXPECT_EQ(wait.since_ms(), 3000u);
  wait.Add(4000, HeldUpBy(0, 0));
  EXPECT_EQ(wait.since_ms(), 0u);
  wait.Add(5000, HeldUpBy(kC, 5));
  EXPECT_EQ(wait.since_ms(), 5000u);
}

}  // namespace
}  // namespace rocksync
