#include "replication/membership/tombstone_gc.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replication/membership/announcement.h"
#include "tests/unit/replication/membership/gc_states.h"

namespace rocksync {
namespace {

using testing::HasSubstr;

// --- Lists ------------------------------------------------------------------

TEST(MemberListTest, FollowsTheOneBefore) {
  const GcState first = Of(3, {7, 5});
  EXPECT_EQ(first.members, (std::vector<Member>{{5, 3}, {7, 3}}));
  const GcState second = Of(4, {9, 5}, first);
  EXPECT_EQ(second.members, (std::vector<Member>{{5, 3}, {9, 4}}));
  EXPECT_EQ(second.Find(9), &second.members[1]);
  EXPECT_EQ(second.Find(7), nullptr);
  EXPECT_EQ(second.Find(10), nullptr);
}

TEST(MemberListTest, WrongOnesAreRefused) {
  const GcState now = Of(3, {5});
  const auto why = [&](uint64_t epoch, const std::vector<uint64_t>& ids) {
    GcState next = now;
    const absl::Status status = next.SetMembers(epoch, ids, 5);
    EXPECT_EQ(next == now, !status.ok());
    return std::string(status.message());
  };
  EXPECT_THAT(why(3, {5}), HasSubstr("epoch 3 does not follow epoch 3"));
  EXPECT_THAT(why(0, {5}), HasSubstr("the next one is 4"));
  EXPECT_THAT(why(4 + (uint64_t{1} << 32), {5}),
              HasSubstr("epoch 4294967300 is more than 4294967296 above"));
  EXPECT_THAT(why(3 + (uint64_t{1} << 32), {5}), "");
  EXPECT_THAT(why(4, {6}), HasSubstr("lacks replica 0000000000000005"));
  EXPECT_THAT(why(4, {}), HasSubstr("lacks replica 0000000000000005"));
  EXPECT_THAT(why(4, {5, 0}), HasSubstr("0 or there twice"));
  EXPECT_THAT(why(4, {5, 6, 6}), HasSubstr("0 or there twice"));
  EXPECT_THAT(why(4, std::vector<uint64_t>(kMaxMembers + 1, 5)),
              HasSubstr("at most 1024"));
}

// --- Knowledge --------------------------------------------------------------

TEST(KnowledgeTest, IsHandedOn) {
  GcState a = Of(1, {1, 2, 3});
  GcState b = a;
  SetSummary(&b, {0, 7, 9});
  a.RecordProof(1, 4, 2, 6, b);
  EXPECT_EQ(Summary(a), (Readings{4, 7, 9}));
  EXPECT_EQ(Acknowledged(a), (Readings{4, 0, 0}));
  GcState c = Of(1, {1, 2, 3});
  SetAcknowledged(&c, {99, 5, 8});
  EXPECT_EQ(a.MergeAcknowledged(c, 1), 0u);
  EXPECT_EQ(Acknowledged(a), (Readings{4, 5, 8}));  // 1 speaks for 1
  EXPECT_EQ(a.AttainableTime(), 4u);
  EXPECT_TRUE(a.AdvanceStableTime());
  EXPECT_EQ(a.stable(), (StableTime{4, 1}));
  EXPECT_FALSE(a.AdvanceStableTime());
}

TEST(KnowledgeTest, WhoWentBackIsNoticed) {
  GcState a = Of(1, {1, 2});
  SetSummary(&a, {0, 7});
  EXPECT_TRUE(a.ReadingWentBack(2, 6, {}));
  EXPECT_FALSE(a.ReadingWentBack(2, 7, {}));
  EXPECT_FALSE(a.ReadingWentBack(3, 6, {}));
  // It has said 7 itself, in this incarnation: the reading was overtaken.
  EXPECT_FALSE(a.ReadingWentBack(2, 6, {.reading = 7}));
  EXPECT_TRUE(a.ReadingWentBack(2, 5, {.reading = 6}));
}

// 1 met replica 3, 2 met a copy of it: neither knows of the other.
TEST(KnowledgeTest, OfIdentityConflictIsNotPutTogether) {
  GcState a = Of(1, {1, 2, 3});
  a.members[2].incarnation = InIncarnation(4, 7, 50);
  GcState b = ListOf(a);
  SetSummary(&b, {10, 11, 12});
  SetAcknowledged(&b, {0, 10, 10});
  b.members[2].incarnation = InIncarnation(4, 8, 50);
  GcState now = a;
  EXPECT_EQ(now.MergeAcknowledged(b, 1), 3u);
  EXPECT_EQ(now, a);
  // What 2 holds of all others is as good as before.
  now.RecordProof(1, 20, 2, 21, b);
  EXPECT_EQ(Summary(now), (Readings{20, 21, 0}));
  EXPECT_EQ(Acknowledged(now), (Readings{0, 0, 0}));
  EXPECT_EQ(now.members[2].incarnation, a.members[2].incarnation);
  // One incarnation, or one that follows.
  for (const Incarnation& incarnation :
       {InIncarnation(4, 7, 40), InIncarnation(5, 9, 50)}) {
    b.members[2].incarnation = incarnation;
    now = a;
    EXPECT_EQ(now.MergeAcknowledged(b, 1), 0u);
    EXPECT_EQ(Acknowledged(now), (Readings{0, 10, 10}));
    EXPECT_EQ(now.members[2].incarnation.incarnation, incarnation.incarnation);
    EXPECT_EQ(now.members[2].incarnation.clock, 50u);
    now.RecordProof(1, 20, 2, 21, b);
    EXPECT_EQ(Summary(now), (Readings{20, 21, 12}));
  }
}

TEST(KnowledgeTest, WhoHearsOfALaterIncarnationOfItsOwnBelievesItself) {
  GcState a = Of(1, {1, 2});
  a.SetOwnIncarnation(1, InIncarnation(4, 7, 50));
  GcState b = ListOf(a);
  SetAcknowledged(&b, {0, 10});
  b.members[0].incarnation = InIncarnation(5, 8, 60);
  GcState now = a;
  EXPECT_EQ(now.MergeAcknowledged(b, 1), 1u);
  EXPECT_EQ(now, a);
  b.members[0].incarnation = InIncarnation(4, 7, 70);
  EXPECT_EQ(now.MergeAcknowledged(b, 1), 0u);
  EXPECT_EQ(Acknowledged(now), Acknowledged(b));
  EXPECT_EQ(now.members[0].incarnation, a.members[0].incarnation);
  EXPECT_EQ(now.members[1].incarnation, a.members[1].incarnation);
}

// 2 says that it runs in the incarnation in which it is met.
bool TwoContinues(const GcState& mine, const Incarnation& incarnation) {
  GcState two = Of(1, {1, 2});
  two.members[1].incarnation = incarnation;
  return mine.AcceptsIncarnation(2, incarnation.incarnation, two);
}

// 2 is met in an incarnation; others have spoken of another.
TEST(KnowledgeTest, APeerGoesOnInItsLine) {
  GcState a = Of(1, {1, 2});
  a.members[1].incarnation = InIncarnation(4, 7, 50);
  EXPECT_TRUE(TwoContinues(a, InIncarnation(4, 7, 40)));
  EXPECT_TRUE(TwoContinues(a, InIncarnation(5, 7, 50)));
  EXPECT_FALSE(TwoContinues(a, InIncarnation(5, 7, 49)));
  EXPECT_FALSE(TwoContinues(a, InIncarnation(4, 8, 50)));
  EXPECT_FALSE(TwoContinues(a, InIncarnation(3, 7, 50)));
  EXPECT_TRUE(TwoContinues({}, InIncarnation(3, 7, 50)));
  GcState b = ListOf(a);
  EXPECT_TRUE(a.AcceptsIncarnation(3, {3, 7}, b));
  EXPECT_FALSE(a.AcceptsIncarnation(2, {4, 7}, b));  // it says something else
  // A session in an incarnation that is over proves nothing.
  b.members[1].incarnation = InIncarnation(3, 7, 50);
  const GcState before = a;
  a.RecordProof(1, 20, 2, 21, b);
  EXPECT_EQ(a, before);
}

TEST(KnowledgeTest, WhatIsTakenMayBeLaterThanTheReading) {
  GcState a = Of(1, {1, 2});
  a.members[1].incarnation = InIncarnation(4, 7, 50);
  EXPECT_TRUE(a.RecordSender(2, {4, 7}, 60));
  EXPECT_EQ(a.members[1].incarnation.clock, 60u);
  EXPECT_TRUE(a.RecordSender(2, {4, 7}, 0));
  EXPECT_EQ(a.members[1].incarnation.clock, 60u);
  // A copy that parted at 55 is another one.
  EXPECT_FALSE(TwoContinues(a, InIncarnation(5, 7, 55)));
  EXPECT_FALSE(a.RecordSender(2, {4, 8}, 60));
  GcState nobody;
  EXPECT_TRUE(nobody.RecordSender(2, {4, 8}, 60));
}

TEST(KnowledgeTest, ReadingsAreTakenAsFarAsTheyAreTrusted) {
  Announcement said = {90, Of(1, {1, 2})};
  SetSummary(&said.gc, {40, 60});
  said.gc.members[0].incarnation = InIncarnation(1, 7, 70);
  said.gc.members[1].incarnation = InIncarnation(1, 8, 30);
  const GcState heard = said.AsTrusted(
      2, [](uint64_t reading) { return std::min(reading, 50ul); });
  EXPECT_EQ(Summary(heard), (Readings{40, 50}));
  EXPECT_EQ(heard.members[0].incarnation.clock, 50u);
  EXPECT_EQ(heard.members[1].incarnation.clock, 50u);  // its reading
  EXPECT_EQ(heard.members[0].incarnation.first_clock, 70u);
}

TEST(KnowledgeTest, OfIncarnationsNoMoreThanIsNeeded) {
  GcState a = Of(1, {1, 2});
  Incarnation own = InIncarnation(20, 7, 300);
  own.past = {.since = 0};
  for (uint64_t counter = 1; counter < 20; ++counter) {
    Append({counter, 7}, 10 * counter, &own.past);
  }
  a.SetOwnIncarnation(1, own);
  EXPECT_EQ(a.members[0].incarnation.past, own.past);
  SetAcknowledged(&a, {180, 190});  // nobody goes by what ended before
  EXPECT_EQ(a.MergeAcknowledged(ListOf(a), 1), 0u);
  EXPECT_EQ(a.members[0].incarnation.past,
            (IncarnationHistory{18, {{{19, 7}, 190}}}));
}

TEST(KnowledgeTest, NothingWithoutAList) {
  GcState a;
  a.RecordProof(1, 4, 2, 6, {});
  EXPECT_EQ(a, GcState{});
  EXPECT_FALSE(a.AdvanceStableTime());
  EXPECT_EQ(a.HeldUpBy(1, 9), 0u);
}

TEST(KnowledgeTest, ANewListStartsAnew) {
  GcState a = Of(1, {1, 2, 3});
  SetSummary(&a, {4, 4, 4});
  SetAcknowledged(&a, {4, 4, 4});
  a.max_acknowledged = 4;
  EXPECT_TRUE(a.AdvanceStableTime());
  ASSERT_TRUE(a.SetMembers(2, {1, 2}, 1).ok());
  EXPECT_EQ(Summary(a), (Readings{0, 0}));
  EXPECT_EQ(Acknowledged(a), (Readings{0, 0}));
  EXPECT_EQ(a.stable(), (StableTime{4, 1}));
  EXPECT_FALSE(a.may_hold_deleted_pairs);  // it was a member before
  // What it acknowledged in the list before, it has acknowledged.
  EXPECT_TRUE(a.RecordProof(1, 3, 2, 3, ListOf(a)));
  EXPECT_EQ(Acknowledged(a), (Readings{3, 0}));
  EXPECT_EQ(a.max_acknowledged, 4u);
  EXPECT_FALSE(a.RecordProof(1, 3, 2, 3, ListOf(a))) << "nothing to sync";
}

TEST(KnowledgeTest, StableTimesAreAgreedUpon) {
  EXPECT_EQ(Agree({5, 2}, {9, 2}, 2), (StableTime{9, 2}));
  EXPECT_EQ(Agree({5, 2}, {9, 1}, 2), (StableTime{5, 2}));
  EXPECT_EQ(Agree({9, 1}, {5, 2}, 2), (StableTime{5, 2}));
  EXPECT_EQ(Agree({9, 1}, {5, 0}, 2), (StableTime{5, 0}));
}

TEST(KnowledgeTest, AStableTimeThatOthersMovedMeanwhileStays) {
  const GcState said = Of(1, {1, 2});
  GcState peer = said;
  Reach({5, 1}, &peer);
  SetAcknowledged(&peer, {9, 6});
  GcState now = said;
  uint64_t identity_conflict = 9;
  EXPECT_EQ(now.AgreeOnTerms(said, peer, 1, &identity_conflict),
            (Terms{1, 5, 5}));
  EXPECT_EQ(now.stable(), (StableTime{5, 1}));
  EXPECT_EQ(Acknowledged(now), (Readings{0, 6}));
  Reach({7, 1}, &now);
  EXPECT_EQ(now.AgreeOnTerms(said, peer, 1, &identity_conflict),
            (Terms{1, 5, 5}));
  EXPECT_EQ(now.stable(), (StableTime{7, 1}));
  // Another list by now: what was agreed upon concerns it no more.
  ASSERT_TRUE(now.SetMembers(2, {1, 2}, 1).ok());
  const GcState before = now;
  EXPECT_EQ(now.AgreeOnTerms(said, peer, 1, &identity_conflict),
            (Terms{1, 5, 5}));
  EXPECT_EQ(now, before);
}

TEST(KnowledgeTest, WhatIsWorthCollecting) {
  EXPECT_FALSE(WorthCollecting(0, 0));
  EXPECT_TRUE(WorthCollecting(1, 1));
  EXPECT_TRUE(WorthCollecting(20, 1000));
  EXPECT_FALSE(WorthCollecting(19, 1000));
}

TEST(KnowledgeTest, WhoHoldsItUp) {
  GcState a = Of(1, {1, 2, 3});
  SetSummary(&a, {9, 9, 4});
  EXPECT_EQ(a.HeldUpBy(1, 9), 3u);
  SetSummary(&a, {9, 3, 4});
  EXPECT_EQ(a.HeldUpBy(1, 9), 2u);
  SetSummary(&a, {9, 9, 9});
  EXPECT_EQ(a.HeldUpBy(1, 9), 0u);
  SetAcknowledged(&a, {9, 8, 7});
  EXPECT_EQ(a.HeldUpBy(1, 9), 3u);
  EXPECT_EQ(a.HeldUpBy(4, 9), 0u);
  EXPECT_EQ(Of(1, {1}).HeldUpBy(1, 9), 0u);
}

// All others are away, so nothing is proven any more.
TEST(KnowledgeTest, WhoHoldsItUpWhenNobodyElseIsThere) {
  GcState a = Of(1, {1, 2});
  EXPECT_EQ(a.HeldUpBy(1, 5), 2u) << "never met";
  SetSummary(&a, {5, 5});
  SetAcknowledged(&a, {5, 5});
  EXPECT_EQ(a.HeldUpBy(1, 5), 0u) << "nothing was written since";
  EXPECT_EQ(a.HeldUpBy(1, 6), 2u);
}

}  // namespace
}  // namespace rocksync
