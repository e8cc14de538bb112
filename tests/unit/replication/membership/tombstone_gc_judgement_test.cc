#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replication/membership/announcement.h"
#include "replication/membership/tombstone_gc.h"
#include "tests/unit/replication/membership/gc_states.h"

namespace rocksync {
namespace {

using testing::HasSubstr;

void ExpectVerdicts(const GcState& a, uint64_t a_id, PeerVerdict of_a,
                    const GcState& b, uint64_t b_id, PeerVerdict of_b,
                    const std::string& why = "") {
  const PeerJudgement mine = a.JudgePeer(a_id, b, b_id);
  const PeerJudgement other = b.JudgePeer(b_id, a, a_id);
  EXPECT_EQ(mine.verdict, of_a) << mine.why;
  EXPECT_EQ(other.verdict, of_b) << other.why;
  EXPECT_THAT(mine.why, HasSubstr(why));
  EXPECT_THAT(other.why, HasSubstr(why));
}

TEST(MeetingTest, OneList) {
  const GcState both = Of(1, {1, 2});
  ExpectVerdicts(both, 1, PeerVerdict::kSameList, both, 2,
                 PeerVerdict::kSameList);
  ExpectVerdicts(
      both, 1, PeerVerdict::kNotMember, both, 3, PeerVerdict::kNotMember,
      "replica 0000000000000003 is not in the member list of epoch 1");
  ExpectVerdicts({}, 1, PeerVerdict::kSameList, {}, 2, PeerVerdict::kSameList);
}

TEST(MeetingTest, TheNewerListIsLearned) {
  const GcState first = Of(1, {1, 2, 3});
  const GcState newer = Of(2, {1, 2}, first);
  ExpectVerdicts(newer, 1, PeerVerdict::kOursNewer, first, 2,
                 PeerVerdict::kPeerNewer);
  ExpectVerdicts(newer, 1, PeerVerdict::kOursNewer, {}, 2,
                 PeerVerdict::kPeerNewer);
  ExpectVerdicts(newer, 1, PeerVerdict::kNotMember, first, 3,
                 PeerVerdict::kNotMember,
                 "epoch 2, which replica 0000000000000001 has; ");
  ExpectVerdicts(newer, 1, PeerVerdict::kNotMember, first, 3,
                 PeerVerdict::kNotMember,
                 "has; it was removed: on replica 0000000000000003 export "
                 "what it alone holds (`rocksync rescue`)");
  ExpectVerdicts(
      newer, 1, PeerVerdict::kNotMember, {}, 4, PeerVerdict::kNotMember,
      "has; if it is new, add it by a newer list; if it was removed, on "
      "replica 0000000000000004 export");
}

TEST(MeetingTest, WhoWasRemovedInBetweenIsNotTakenBack) {
  const GcState first = Of(1, {1, 2, 3});
  const GcState second = Of(2, {1, 2}, first);
  const GcState third = Of(3, {1, 2, 3}, second);
  ExpectVerdicts(third, 1, PeerVerdict::kOursNewer, first, 2,
                 PeerVerdict::kPeerNewer);
  ExpectVerdicts(third, 1, PeerVerdict::kConflict, first, 3,
                 PeerVerdict::kConflict, "removed in between");
}

TEST(MeetingTest, AListFromNowhereIsNotLearned) {
  ExpectVerdicts(Of(9, {1, 2}), 1, PeerVerdict::kConflict, Of(1, {1, 2}), 2,
                 PeerVerdict::kConflict, "set on a replica that was no member");
  // Set on 2, which had not heard of the list that 3 came in by.
  const GcState first = Of(1, {1, 2});
  const GcState second = Of(2, {1, 2, 3}, first);
  const GcState third = Of(3, {2, 3}, first);
  ExpectVerdicts(third, 2, PeerVerdict::kConflict, second, 3,
                 PeerVerdict::kConflict, "did not have the older one yet");
  ExpectVerdicts(Of(1, {1, 2}), 1, PeerVerdict::kConflict, Of(1, {1, 2, 3}), 2,
                 PeerVerdict::kConflict, "different member lists of one epoch");
}

TEST(MeetingTest, OldDataAreOutOfReachOnceOthersHaveCollected) {
  GcState new_member;
  GcState member = Of(1, {1, 2});
  EXPECT_EQ(new_member.InstallList(member, 2, true).verdict,
            PeerVerdict::kSameList);
  EXPECT_TRUE(new_member.may_hold_deleted_pairs);
  ExpectVerdicts(member, 1, PeerVerdict::kSameList, new_member, 2,
                 PeerVerdict::kSameList);
  Reach({5, 0}, &member);
  ExpectVerdicts(member, 1, PeerVerdict::kOutOfReach, new_member, 2,
                 PeerVerdict::kOutOfReach,
                 "replica 0000000000000002 may hold pairs");
  // Also if what they compare by fell back: what is purged is not there again.
  member.stable_time = 0;
  ExpectVerdicts(member, 1, PeerVerdict::kOutOfReach, new_member, 2,
                 PeerVerdict::kOutOfReach,
                 "replica 0000000000000002 may hold pairs");
  new_member.purged = 5;
  ExpectVerdicts(member, 1, PeerVerdict::kSameList, new_member, 2,
                 PeerVerdict::kSameList);
  // Proven equal to a member, it is like any other.
  new_member.purged = 0;
  GcState bootstrapping = member;
  bootstrapping.bootstrapping = true;
  new_member.RecordProof(2, 0, 1, 1, bootstrapping);
  EXPECT_TRUE(new_member.may_hold_deleted_pairs)
      << "that member may lack tombstones itself";
  new_member.RecordProof(2, 1, 1, 1, member);
  EXPECT_FALSE(new_member.may_hold_deleted_pairs);
  ExpectVerdicts(member, 1, PeerVerdict::kSameList, new_member, 2,
                 PeerVerdict::kSameList);
}

// The one that had no data, on which the first list was set, has gone.
TEST(MeetingTest, ThoseWhoAllCameWithDataAreInReachOfEachOther) {
  const GcState first = Of(1, {1, 2, 3});
  GcState two = Of(2, {2, 3}, first);
  GcState three = two;
  two.may_hold_deleted_pairs = three.may_hold_deleted_pairs = true;
  two.RecordProof(2, 10, 3, 20, three);
  EXPECT_FALSE(two.may_hold_deleted_pairs);
  EXPECT_TRUE(three.may_hold_deleted_pairs) << "it has not heard of the proof";
  three.RecordProof(3, 20, 2, 10, ListOf(two));
  EXPECT_FALSE(three.may_hold_deleted_pairs);
  EXPECT_EQ(two.MergeAcknowledged(three, 2), 0u);
  ASSERT_TRUE(two.AdvanceStableTime());
  ExpectVerdicts(two, 2, PeerVerdict::kSameList, three, 3,
                 PeerVerdict::kSameList);
  // A third that one of them has not reached yet.
  GcState of_three = Of(3, {2, 3, 4}, two);
  of_three.may_hold_deleted_pairs = true;
  of_three.RecordProof(2, 10, 3, 20, of_three);
  EXPECT_TRUE(of_three.may_hold_deleted_pairs);
}

// A copy of a member is opened as a new replica and joins again; by it a
// new member still knows that an older state of another member's disk is one.
TEST(MeetingTest, ACopyRemembersInWhichEpochItCollected) {
  const GcState first = Of(1, {1, 2});
  const GcState second = Of(2, {1, 2}, first);
  GcState copied = second;
  copied.may_hold_deleted_pairs = true;
  Reach({5, 2}, &copied);
  GcState copy = copied.AsNewReplica();
  EXPECT_FALSE(copy.may_hold_deleted_pairs);
  EXPECT_EQ(copy.epoch, 0u);
  std::string bytes;
  copy.EncodeTo(&bytes);
  GcState reopened;
  ASSERT_TRUE(reopened.DecodeFrom(bytes));
  EXPECT_EQ(reopened, copy);
  GcState member = Of(3, {1, 2, 3, 4}, second);
  member.max_acknowledged = 5;
  ASSERT_EQ(copy.InstallList(member, 3, true).verdict, PeerVerdict::kSameList);
  EXPECT_EQ(copy.stable(), (StableTime{5, 2}));
  ExpectVerdicts(copy, 3, PeerVerdict::kAcknowledgedMore, first, 2,
                 PeerVerdict::kAcknowledgedMore, "has lost state");
  // In another cluster, say, with younger lists: not in this epoch.
  GcState elsewhere;
  Reach({5, 9}, &elsewhere);
  ASSERT_TRUE(elsewhere.SetMembers(2, {7}, 7).ok());
  EXPECT_EQ(elsewhere.stable(), (StableTime{5, 1}));
  EXPECT_EQ(elsewhere.reached, StableTime());
  EXPECT_EQ(elsewhere.purged, 5u);
}

TEST(MeetingTest, WhoAcknowledgedMoreThanItKnowsWasRolledBack) {
  GcState kept = Of(1, {1, 2});
  GcState back = kept;
  SetAcknowledged(&kept, {3, 8});
  SetAcknowledged(&back, {3, 8});
  kept.max_acknowledged = 3;
  back.max_acknowledged = 8;
  ExpectVerdicts(kept, 1, PeerVerdict::kSameList, back, 2,
                 PeerVerdict::kSameList);
  SetAcknowledged(&back, {3, 7});
  back.max_acknowledged = 7;
  ExpectVerdicts(kept, 1, PeerVerdict::kAcknowledgedMore, back, 2,
                 PeerVerdict::kAcknowledgedMore,
                 "replica 0000000000000002 has lost state");
  // To have heard less of others is no fault.
  SetAcknowledged(&back, {2, 9});
  back.max_acknowledged = 9;
  ExpectVerdicts(kept, 1, PeerVerdict::kSameList, back, 2,
                 PeerVerdict::kSameList);
}

// An operator sets the next list on an older state of a member's disk: what it
// promised in the list before is not known to it, but to the others.
TEST(MeetingTest, ANewerListDoesNotHideThatItsMemberWasRolledBack) {
  const GcState first = Of(1, {1, 2});
  GcState kept = first;
  SetAcknowledged(&kept, {8, 8});
  kept.max_acknowledged = 8;
  GcState back = Of(2, {1, 2}, first);
  back.max_acknowledged = 7;
  ExpectVerdicts(kept, 1, PeerVerdict::kAcknowledgedMore, back, 2,
                 PeerVerdict::kAcknowledgedMore,
                 "replica 0000000000000002 has lost state");
  back.max_acknowledged = 8;
  ExpectVerdicts(kept, 1, PeerVerdict::kPeerNewer, back, 2,
                 PeerVerdict::kOursNewer);
  // Nor is it hidden from one that has the newer list by another way, as soon
  // as it knows of a stable time that took as much.
  ASSERT_EQ(kept.InstallList(back, 1, true).verdict, PeerVerdict::kSameList);
  back.max_acknowledged = 7;
  ExpectVerdicts(kept, 1, PeerVerdict::kSameList, back, 2,
                 PeerVerdict::kSameList);
  kept.reached = {8, 1};
  ExpectVerdicts(kept, 1, PeerVerdict::kAcknowledgedMore, back, 2,
                 PeerVerdict::kAcknowledgedMore);
  // Of one that came later nobody expects that it was in that epoch.
  back.members[1].since = kept.members[1].since = 2;
  ExpectVerdicts(kept, 1, PeerVerdict::kSameList, back, 2,
                 PeerVerdict::kSameList);
}

// Set on a replica that was removed, and did not know: by its list it is a
// member all along, with pairs that the others have deleted meanwhile.
TEST(MeetingTest, AListThatFollowsAnOlderOneIsRefused) {
  const GcState first = Of(1, {1, 2, 3});
  const GcState kept = Of(2, {1, 2}, first);
  for (const uint64_t epoch : {3, 7}) {
    const GcState removed = Of(epoch, {1, 2, 3}, first);
    ExpectVerdicts(
        kept, 1, PeerVerdict::kConflict, removed, 3, PeerVerdict::kConflict,
        "it has replica 0000000000000003 for a member since epoch 1");
    // Nor by way of a member that had not heard of the second list either.
    ExpectVerdicts(kept, 1, PeerVerdict::kConflict, removed, 2,
                   PeerVerdict::kConflict);
  }
  // Its way back.
  const GcState back = Of(3, {1, 2, 3}, kept);
  ExpectVerdicts(back, 1, PeerVerdict::kOursNewer, kept, 2,
                 PeerVerdict::kPeerNewer);
  ExpectVerdicts(back, 1, PeerVerdict::kConflict, first, 3,
                 PeerVerdict::kConflict, "was removed in between");
}

// Not that it says it: a copy from another cluster.
TEST(MeetingTest, MarksOfAnotherClusterAreDroppedAtTheDoor) {
  GcState member = Of(10, {1, 2, 3}, Of(1, {1, 2}));
  member.max_acknowledged = 4;
  GcState copy;
  Reach({5, 3}, &copy);
  ASSERT_EQ(copy.InstallList(member, 3, true).verdict, PeerVerdict::kSameList);
  EXPECT_EQ(copy.reached, StableTime());
  EXPECT_EQ(copy.purged, 5u);
  ExpectVerdicts(copy, 3, PeerVerdict::kSameList, member, 1,
                 PeerVerdict::kSameList);
}

// Two set-ups of one incarnation cross on two connections.
TEST(MeetingTest, WhatWasOvertakenIsNotHeldAgainstAnybody) {
  GcState ahead = Of(1, {1, 2});
  GcState old = ahead;
  SetAcknowledged(&ahead, {3, 8});
  ahead.max_acknowledged = 3;
  SetAcknowledged(&old, {3, 7});
  old.max_acknowledged = 7;
  const auto verdict = [&](const Reported& mine, const Reported& theirs) {
    return ahead.JudgePeer(1, old, 2, {mine, theirs}).verdict;
  };
  EXPECT_EQ(verdict({}, {.max_acknowledged = 8}), PeerVerdict::kSameList);
  EXPECT_EQ(verdict({}, {.max_acknowledged = 7}),
            PeerVerdict::kAcknowledgedMore);
  EXPECT_EQ(verdict({.max_acknowledged = 8}, {}),
            PeerVerdict::kAcknowledgedMore);
  EXPECT_EQ(old.JudgePeer(2, ahead, 1, {{.max_acknowledged = 8}, {}}).verdict,
            PeerVerdict::kSameList);
}

TEST(MeetingTest, WhoMissesItsPartInAStableTimeWasRolledBack) {
  const GcState first = Of(1, {1, 2});
  GcState newer = Of(3, {1, 2}, first);
  newer.reached = {8, 1};
  newer.max_acknowledged = 8;
  GcState older = first;
  older.max_acknowledged = 8;
  ExpectVerdicts(newer, 1, PeerVerdict::kOursNewer, older, 2,
                 PeerVerdict::kPeerNewer);
  SetAcknowledged(&older, {8, 7});
  older.max_acknowledged = 7;
  ExpectVerdicts(newer, 1, PeerVerdict::kAcknowledgedMore, older, 2,
                 PeerVerdict::kAcknowledgedMore,
                 "replica 0000000000000002 has lost state");
  EXPECT_EQ(newer.JudgePeer(1, older, 2, {{}, {.max_acknowledged = 8}}).verdict,
            PeerVerdict::kOursNewer);
  // It was in epoch 2 too, if that collected something.
  newer.reached.epoch = 2;
  older.max_acknowledged = 9;
  ExpectVerdicts(newer, 1, PeerVerdict::kAcknowledgedMore, older, 2,
                 PeerVerdict::kAcknowledgedMore);
  // Nothing is expected of a replica that was in no list.
  ExpectVerdicts(newer, 1, PeerVerdict::kOursNewer, {}, 2,
                 PeerVerdict::kPeerNewer);
}

TEST(SayingsTest, CountInOneIncarnation) {
  const IncarnationId incarnation = {4, 77};
  GcState knows = Of(1, {1, 2});
  knows.max_acknowledged = 5;
  Sayings sayings;
  sayings.Note(2, incarnation, {9, knows});
  EXPECT_EQ(sayings.Of(2, incarnation).reading, 9u);
  EXPECT_EQ(sayings.Of(2, incarnation).max_acknowledged, 5u);
  EXPECT_EQ(sayings.Of(2, {4, 78}).max_acknowledged, 0u);
  EXPECT_EQ(sayings.Of(1, incarnation).max_acknowledged, 0u);
  // What is said later but was sent before takes nothing back.
  knows.max_acknowledged = 4;
  sayings.Note(2, incarnation, {8, knows});
  EXPECT_EQ(sayings.Of(2, incarnation).reading, 9u);
  EXPECT_EQ(sayings.Of(2, incarnation).max_acknowledged, 5u);
  sayings.Note(2, {5, 78}, {7, knows});
  EXPECT_EQ(sayings.Of(2, {5, 78}).reading, 7u);
  EXPECT_EQ(sayings.Of(2, incarnation).reading, 0u);
  // Whoever is in no list acknowledges nothing.
  sayings.Note(3, incarnation, {8, knows});
  EXPECT_EQ(sayings.Of(3, incarnation).reading, 0u);
}

TEST(MeetingTest, ANewMemberWithOldDataDoesNotJoin) {
  GcState member = Of(1, {1, 2});
  Reach({5, 1}, &member);
  GcState new_member;
  const PeerJudgement verdict = new_member.InstallList(member, 2, true);
  EXPECT_EQ(verdict.verdict, PeerVerdict::kOutOfReach);
  EXPECT_THAT(verdict.why,
              HasSubstr("replica 0000000000000002 may hold pairs"));
  EXPECT_EQ(new_member, GcState{});
  member.stable_time = 0;  // back again
  EXPECT_EQ(new_member.InstallList(member, 2, true).verdict,
            PeerVerdict::kOutOfReach);
  member.stable_time = 5;
  // Empty, it does; and a copy that has collected as much.
  EXPECT_EQ(new_member.InstallList(member, 2, false).verdict,
            PeerVerdict::kSameList);
  EXPECT_EQ(new_member.stable_time, 5u);
  EXPECT_EQ(new_member.purged, 5u);
  EXPECT_EQ(new_member.reached, (StableTime{5, 1}));
  EXPECT_FALSE(new_member.may_hold_deleted_pairs);
  EXPECT_TRUE(new_member.bootstrapping);
  new_member.RecordProof(2, 1, 1, 1, member);
  EXPECT_FALSE(new_member.bootstrapping);
  GcState copy;
  Reach({6, 0}, &copy);
  EXPECT_EQ(copy.InstallList(member, 2, true).verdict, PeerVerdict::kSameList);
  EXPECT_EQ(copy.stable_time, 6u);
  EXPECT_TRUE(copy.may_hold_deleted_pairs);
  EXPECT_FALSE(copy.bootstrapping);
}

TEST(MeetingTest, AMemberTakesAlongWhatItsEpochHasReached) {
  GcState first = Of(1, {1, 2});
  GcState second = Of(2, {1, 2}, first);
  Reach({5, 1}, &second);
  EXPECT_EQ(first.InstallList(second, 2, true).verdict, PeerVerdict::kSameList);
  EXPECT_EQ(first.stable(), (StableTime{5, 1}));
  EXPECT_EQ(first.purged, 5u);
  EXPECT_EQ(first.reached, (StableTime{5, 1}));
  EXPECT_TRUE(first.HasListOf(second));
  EXPECT_FALSE(first.may_hold_deleted_pairs);
}

TEST(MeetingTest, WithoutListsAForgottenPastMustBeTheSame) {
  GcState copy;
  copy.stable_time = 5;
  ExpectVerdicts(copy, 1, PeerVerdict::kOutOfReach, {}, 2,
                 PeerVerdict::kOutOfReach, "have no member list");
  ExpectVerdicts(copy, 1, PeerVerdict::kSameList, copy, 2,
                 PeerVerdict::kSameList);
  copy.purged = 5;
  GcState fell_back = copy;
  fell_back.purged = 6;
  ExpectVerdicts(copy, 1, PeerVerdict::kOutOfReach, fell_back, 2,
                 PeerVerdict::kOutOfReach, "have no member list");
}

// What the three numbers do in a newer list, set on one that had acknowledged
// and had not heard.
TEST(MeetingTest, WhatIsPurgedIsKnownWhateverTheStableTimeDoes) {
  const GcState first = Of(1, {1, 2, 3});
  GcState knows = first;
  Reach({5, 1}, &knows);
  SetAcknowledged(&knows, {5, 5, 5});
  GcState acknowledged = first;
  SetAcknowledged(&acknowledged, {5, 0, 5});
  knows.max_acknowledged = acknowledged.max_acknowledged = 5;
  ASSERT_TRUE(acknowledged.SetMembers(2, {1, 2, 3, 4}, 1).ok());
  ASSERT_EQ(knows.InstallList(acknowledged, 1, true).verdict,
            PeerVerdict::kSameList);
  EXPECT_EQ(knows.stable(), (StableTime{5, 1}));
  const GcState said = knows;
  uint64_t identity_conflict = 0;
  const Terms of_one =
      knows.AgreeOnTerms(said, acknowledged, 1, &identity_conflict);
  const Terms of_three =
      acknowledged.AgreeOnTerms(acknowledged, said, 3, &identity_conflict);
  EXPECT_EQ(of_one, (Terms{2, 0, 5, false}));
  EXPECT_EQ(of_three, of_one);
  for (const GcState& one : {knows, acknowledged}) {
    EXPECT_EQ(one.terms(), of_one);
    EXPECT_EQ(one.reached, (StableTime{5, 1}));
  }
  // A member of the first list that has not heard of it, and missed nothing.
  GcState older = first;
  ExpectVerdicts(acknowledged, 3, PeerVerdict::kAcknowledgedMore, older, 2,
                 PeerVerdict::kAcknowledgedMore);
  SetAcknowledged(&older, {0, 5, 0});
  older.max_acknowledged = 5;
  ExpectVerdicts(acknowledged, 3, PeerVerdict::kOursNewer, older, 2,
                 PeerVerdict::kPeerNewer);
  // A copy from before, and one from after.
  GcState copy;
  EXPECT_EQ(copy.InstallList(acknowledged, 4, true).verdict,
            PeerVerdict::kOutOfReach);
  GcState late = acknowledged.AsNewReplica();
  EXPECT_EQ(late.InstallList(acknowledged, 4, true).verdict,
            PeerVerdict::kSameList);
  EXPECT_EQ(late.terms(), (Terms{2, 0, 5, true}));
}

// It came empty, so nobody holds old data against it; it took those of another.
TEST(MeetingTest, WhoTakesOldPairsWhileItIsFilledIsAsTheyAre) {
  const GcState list = Of(2, {1, 2, 3});
  GcState bootstrapping = list;
  bootstrapping.bootstrapping = true;
  GcState old = list;
  old.may_hold_deleted_pairs = true;
  GcState now = bootstrapping;
  uint64_t identity_conflict = 0;
  EXPECT_EQ(now.AgreeOnTerms(bootstrapping, old, 2, &identity_conflict),
            (Terms{2, 0, 0, true}));
  EXPECT_TRUE(now.may_hold_deleted_pairs);
  EXPECT_FALSE(now.bootstrapping);
  // To others it has said otherwise before.
  GcState member = list;
  EXPECT_EQ(now.AgreeOnTerms(bootstrapping, member, 2, &identity_conflict),
            (Terms{2, 0, 0, false}));
  EXPECT_FALSE((Terms{2, 0, 0, false}).StillHold(now.terms()));
  EXPECT_TRUE((Terms{2, 0, 0, true}).StillHold(bootstrapping.terms()));
  for (const Terms& other :
       {Terms{3, 0, 0, true}, {2, 1, 0, true}, {2, 0, 1, true}}) {
    EXPECT_FALSE(other.StillHold(now.terms()));
  }
  // It hears of what was purged, and its data are no younger by that.
  member.purged = 5;
  EXPECT_EQ(now.AgreeOnTerms(bootstrapping, member, 2, &identity_conflict),
            (Terms{2, 0, 5, false}));
  EXPECT_EQ(now.purged, 0u);
  ExpectVerdicts(now, 2, PeerVerdict::kOutOfReach, member, 1,
                 PeerVerdict::kOutOfReach,
                 "replica 0000000000000002 may hold pairs");
  // A member that was there all along takes no harm.
  GcState sound = list;
  EXPECT_EQ(sound.AgreeOnTerms(list, old, 1, &identity_conflict),
            (Terms{2, 0, 0, false}));
  EXPECT_FALSE(sound.may_hold_deleted_pairs);
}

}  // namespace
}  // namespace rocksync
