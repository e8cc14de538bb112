#include "replication/membership/tombstone_gc.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replication/membership/announcement.h"

namespace rocksync {
namespace {

using testing::HasSubstr;

// The list of this state alone.
GcState ListOf(const GcState& gc) {
  GcState list;
  list.epoch = gc.epoch;
  for (const Member& member : gc.members) {
    list.members.push_back(
        {.replica_id = member.replica_id, .since = member.since});
  }
  return list;
}

// Knows a list, and nothing else. The list follows the one of `after`.
GcState Of(uint64_t epoch, const std::vector<uint64_t>& ids,
           const GcState& after = {}) {
  GcState knows = ListOf(after);
  EXPECT_TRUE(knows.SetMembers(epoch, ids, ids.front()).ok());
  return knows;
}

using Readings = std::vector<uint64_t>;

Readings Summary(const GcState& gc) {
  Readings summary;
  for (const Member& member : gc.members) summary.push_back(member.summary);
  return summary;
}

Readings Acknowledged(const GcState& gc) {
  Readings acknowledged;
  for (const Member& member : gc.members) {
    acknowledged.push_back(member.acknowledged);
  }
  return acknowledged;
}

void SetSummary(GcState* gc, const Readings& summary) {
  ASSERT_EQ(gc->members.size(), summary.size());
  for (size_t i = 0; i < summary.size(); ++i) {
    gc->members[i].summary = summary[i];
  }
}

void SetAcknowledged(GcState* gc, const Readings& acknowledged) {
  ASSERT_EQ(gc->members.size(), acknowledged.size());
  for (size_t i = 0; i < acknowledged.size(); ++i) {
    gc->members[i].acknowledged = acknowledged[i];
  }
}

// It has this stable time, and knows of no other.
void Reach(const StableTime& stable_time, GcState* knows) {
  knows->stable_time = knows->purged = stable_time.time;
  knows->stable_epoch = stable_time.epoch;
  knows->reached = stable_time;
}

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
              HasSubstr("epoch 4294967300 leaps ahead"));
  EXPECT_THAT(why(3 + (uint64_t{1} << 32), {5}), "");
  EXPECT_THAT(why(4, {6}), HasSubstr("lacks replica 0000000000000005"));
  EXPECT_THAT(why(4, {}), HasSubstr("lacks replica 0000000000000005"));
  EXPECT_THAT(why(4, {5, 0}), HasSubstr("0 or there twice"));
  EXPECT_THAT(why(4, {5, 6, 6}), HasSubstr("0 or there twice"));
  EXPECT_THAT(why(4, std::vector<uint64_t>(kMaxMembers + 1, 5)),
              HasSubstr("at most 1024"));
}

// --- Meetings ---------------------------------------------------------------

void ExpectVerdicts(const GcState& a, uint64_t a_id, Meeting of_a,
                    const GcState& b, uint64_t b_id, Meeting of_b,
                    const std::string& why = "") {
  const MeetingVerdict mine = a.JudgeMeeting(a_id, b, b_id);
  const MeetingVerdict other = b.JudgeMeeting(b_id, a, a_id);
  EXPECT_EQ(mine.meeting, of_a) << mine.why;
  EXPECT_EQ(other.meeting, of_b) << other.why;
  EXPECT_THAT(mine.why, HasSubstr(why));
  EXPECT_THAT(other.why, HasSubstr(why));
}

TEST(MeetingTest, OneList) {
  const GcState both = Of(1, {1, 2});
  ExpectVerdicts(both, 1, Meeting::kAlike, both, 2, Meeting::kAlike);
  ExpectVerdicts(
      both, 1, Meeting::kNotMember, both, 3, Meeting::kNotMember,
      "replica 0000000000000003 is not in the member list of epoch 1");
  ExpectVerdicts({}, 1, Meeting::kAlike, {}, 2, Meeting::kAlike);
}

TEST(MeetingTest, TheNewerListIsLearned) {
  const GcState first = Of(1, {1, 2, 3});
  const GcState newer = Of(2, {1, 2}, first);
  ExpectVerdicts(newer, 1, Meeting::kTeach, first, 2, Meeting::kLearn);
  ExpectVerdicts(newer, 1, Meeting::kTeach, {}, 2, Meeting::kLearn);
  ExpectVerdicts(newer, 1, Meeting::kNotMember, first, 3, Meeting::kNotMember,
                 "rocksync rescue");
  ExpectVerdicts(newer, 1, Meeting::kNotMember, {}, 4, Meeting::kNotMember,
                 "add it by a newer list");
}

TEST(MeetingTest, WhoWasRemovedInBetweenIsNotTakenBack) {
  const GcState first = Of(1, {1, 2, 3});
  const GcState second = Of(2, {1, 2}, first);
  const GcState third = Of(3, {1, 2, 3}, second);
  ExpectVerdicts(third, 1, Meeting::kTeach, first, 2, Meeting::kLearn);
  ExpectVerdicts(third, 1, Meeting::kConflict, first, 3, Meeting::kConflict,
                 "removed in between");
}

TEST(MeetingTest, AListFromNowhereIsNotLearned) {
  ExpectVerdicts(Of(9, {1, 2}), 1, Meeting::kConflict, Of(1, {1, 2}), 2,
                 Meeting::kConflict, "set on a replica that was no member");
  // Set on 2, which had not heard of the list that 3 came in by.
  const GcState first = Of(1, {1, 2});
  const GcState second = Of(2, {1, 2, 3}, first);
  const GcState third = Of(3, {2, 3}, first);
  ExpectVerdicts(third, 2, Meeting::kConflict, second, 3, Meeting::kConflict,
                 "did not have the older one yet");
  ExpectVerdicts(Of(1, {1, 2}), 1, Meeting::kConflict, Of(1, {1, 2, 3}), 2,
                 Meeting::kConflict, "different member lists of one epoch");
}

TEST(MeetingTest, OldDataAreOutOfReachOnceOthersHaveCollected) {
  GcState new_member;
  GcState member = Of(1, {1, 2});
  EXPECT_EQ(new_member.InstallList(member, 2, true).meeting, Meeting::kAlike);
  EXPECT_TRUE(new_member.may_hold_deleted_pairs);
  ExpectVerdicts(member, 1, Meeting::kAlike, new_member, 2, Meeting::kAlike);
  Reach({5, 0}, &member);
  ExpectVerdicts(member, 1, Meeting::kOutOfReach, new_member, 2,
                 Meeting::kOutOfReach,
                 "replica 0000000000000002 may hold pairs");
  // Also if what they compare by fell back: what is purged is not there again.
  member.stable_time = 0;
  ExpectVerdicts(member, 1, Meeting::kOutOfReach, new_member, 2,
                 Meeting::kOutOfReach,
                 "replica 0000000000000002 may hold pairs");
  new_member.purged = 5;
  ExpectVerdicts(member, 1, Meeting::kAlike, new_member, 2, Meeting::kAlike);
  // Proven equal to a member, it is like any other.
  new_member.purged = 0;
  GcState bootstrapping = member;
  bootstrapping.bootstrapping = true;
  new_member.RecordProof(2, 0, 1, 1, bootstrapping);
  EXPECT_TRUE(new_member.may_hold_deleted_pairs)
      << "that member may lack tombstones itself";
  new_member.RecordProof(2, 1, 1, 1, member);
  EXPECT_FALSE(new_member.may_hold_deleted_pairs);
  ExpectVerdicts(member, 1, Meeting::kAlike, new_member, 2, Meeting::kAlike);
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
  ExpectVerdicts(two, 2, Meeting::kAlike, three, 3, Meeting::kAlike);
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
  ASSERT_EQ(copy.InstallList(member, 3, true).meeting, Meeting::kAlike);
  EXPECT_EQ(copy.stable(), (StableTime{5, 2}));
  ExpectVerdicts(copy, 3, Meeting::kRolledBack, first, 2, Meeting::kRolledBack,
                 "has lost state");
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
  ExpectVerdicts(kept, 1, Meeting::kAlike, back, 2, Meeting::kAlike);
  SetAcknowledged(&back, {3, 7});
  back.max_acknowledged = 7;
  ExpectVerdicts(kept, 1, Meeting::kRolledBack, back, 2, Meeting::kRolledBack,
                 "replica 0000000000000002 has lost state");
  // To have heard less of others is no fault.
  SetAcknowledged(&back, {2, 9});
  back.max_acknowledged = 9;
  ExpectVerdicts(kept, 1, Meeting::kAlike, back, 2, Meeting::kAlike);
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
  ExpectVerdicts(kept, 1, Meeting::kRolledBack, back, 2, Meeting::kRolledBack,
                 "replica 0000000000000002 has lost state");
  back.max_acknowledged = 8;
  ExpectVerdicts(kept, 1, Meeting::kLearn, back, 2, Meeting::kTeach);
  // Nor is it hidden from one that has the newer list by another way, as soon
  // as it knows of a stable time that took as much.
  ASSERT_EQ(kept.InstallList(back, 1, true).meeting, Meeting::kAlike);
  back.max_acknowledged = 7;
  ExpectVerdicts(kept, 1, Meeting::kAlike, back, 2, Meeting::kAlike);
  kept.reached = {8, 1};
  ExpectVerdicts(kept, 1, Meeting::kRolledBack, back, 2, Meeting::kRolledBack);
  // Of one that came later nobody expects that it was in that epoch.
  back.members[1].since = kept.members[1].since = 2;
  ExpectVerdicts(kept, 1, Meeting::kAlike, back, 2, Meeting::kAlike);
}

// Set on a replica that was removed, and did not know: by its list it is a
// member all along, with pairs that the others have deleted meanwhile.
TEST(MeetingTest, AListThatFollowsAnOlderOneIsRefused) {
  const GcState first = Of(1, {1, 2, 3});
  const GcState kept = Of(2, {1, 2}, first);
  for (const uint64_t epoch : {3, 7}) {
    const GcState removed = Of(epoch, {1, 2, 3}, first);
    ExpectVerdicts(
        kept, 1, Meeting::kConflict, removed, 3, Meeting::kConflict,
        "it has replica 0000000000000003 for a member since epoch 1");
    // Nor by way of a member that had not heard of the second list either.
    ExpectVerdicts(kept, 1, Meeting::kConflict, removed, 2, Meeting::kConflict);
  }
  // Its way back.
  const GcState back = Of(3, {1, 2, 3}, kept);
  ExpectVerdicts(back, 1, Meeting::kTeach, kept, 2, Meeting::kLearn);
  ExpectVerdicts(back, 1, Meeting::kConflict, first, 3, Meeting::kConflict,
                 "was removed in between");
}

// Not that it says it: a copy from another cluster.
TEST(MeetingTest, MarksOfAnotherClusterAreDroppedAtTheDoor) {
  GcState member = Of(10, {1, 2, 3}, Of(1, {1, 2}));
  member.max_acknowledged = 4;
  GcState copy;
  Reach({5, 3}, &copy);
  ASSERT_EQ(copy.InstallList(member, 3, true).meeting, Meeting::kAlike);
  EXPECT_EQ(copy.reached, StableTime());
  EXPECT_EQ(copy.purged, 5u);
  ExpectVerdicts(copy, 3, Meeting::kAlike, member, 1, Meeting::kAlike);
}

// Two set-ups of one incarnation cross on two connections.
TEST(MeetingTest, WhatWasOvertakenIsNotHeldAgainstAnybody) {
  GcState ahead = Of(1, {1, 2});
  GcState old = ahead;
  SetAcknowledged(&ahead, {3, 8});
  ahead.max_acknowledged = 3;
  SetAcknowledged(&old, {3, 7});
  old.max_acknowledged = 7;
  const auto verdict = [&](const Said& mine, const Said& theirs) {
    return ahead.JudgeMeeting(1, old, 2, {mine, theirs}).meeting;
  };
  EXPECT_EQ(verdict({}, {.max_acknowledged = 8}), Meeting::kAlike);
  EXPECT_EQ(verdict({}, {.max_acknowledged = 7}), Meeting::kRolledBack);
  EXPECT_EQ(verdict({.max_acknowledged = 8}, {}), Meeting::kRolledBack);
  EXPECT_EQ(
      old.JudgeMeeting(2, ahead, 1, {{.max_acknowledged = 8}, {}}).meeting,
      Meeting::kAlike);
}

TEST(MeetingTest, WhoMissesItsPartInAHorizonWasRolledBack) {
  const GcState first = Of(1, {1, 2});
  GcState newer = Of(3, {1, 2}, first);
  newer.reached = {8, 1};
  newer.max_acknowledged = 8;
  GcState older = first;
  older.max_acknowledged = 8;
  ExpectVerdicts(newer, 1, Meeting::kTeach, older, 2, Meeting::kLearn);
  SetAcknowledged(&older, {8, 7});
  older.max_acknowledged = 7;
  ExpectVerdicts(newer, 1, Meeting::kRolledBack, older, 2, Meeting::kRolledBack,
                 "replica 0000000000000002 has lost state");
  EXPECT_EQ(
      newer.JudgeMeeting(1, older, 2, {{}, {.max_acknowledged = 8}}).meeting,
      Meeting::kTeach);
  // It was in epoch 2 too, if that collected something.
  newer.reached.epoch = 2;
  older.max_acknowledged = 9;
  ExpectVerdicts(newer, 1, Meeting::kRolledBack, older, 2,
                 Meeting::kRolledBack);
  // Nothing is expected of a replica that was in no list.
  ExpectVerdicts(newer, 1, Meeting::kTeach, {}, 2, Meeting::kLearn);
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
  const MeetingVerdict verdict = new_member.InstallList(member, 2, true);
  EXPECT_EQ(verdict.meeting, Meeting::kOutOfReach);
  EXPECT_THAT(verdict.why,
              HasSubstr("replica 0000000000000002 may hold pairs"));
  EXPECT_EQ(new_member, GcState{});
  member.stable_time = 0;  // back again
  EXPECT_EQ(new_member.InstallList(member, 2, true).meeting,
            Meeting::kOutOfReach);
  member.stable_time = 5;
  // Empty, it does; and a copy that has collected as much.
  EXPECT_EQ(new_member.InstallList(member, 2, false).meeting, Meeting::kAlike);
  EXPECT_EQ(new_member.stable_time, 5u);
  EXPECT_EQ(new_member.purged, 5u);
  EXPECT_EQ(new_member.reached, (StableTime{5, 1}));
  EXPECT_FALSE(new_member.may_hold_deleted_pairs);
  EXPECT_TRUE(new_member.bootstrapping);
  new_member.RecordProof(2, 1, 1, 1, member);
  EXPECT_FALSE(new_member.bootstrapping);
  GcState copy;
  Reach({6, 0}, &copy);
  EXPECT_EQ(copy.InstallList(member, 2, true).meeting, Meeting::kAlike);
  EXPECT_EQ(copy.stable_time, 6u);
  EXPECT_TRUE(copy.may_hold_deleted_pairs);
  EXPECT_FALSE(copy.bootstrapping);
}

TEST(MeetingTest, AMemberTakesAlongWhatItsEpochHasReached) {
  GcState first = Of(1, {1, 2});
  GcState second = Of(2, {1, 2}, first);
  Reach({5, 1}, &second);
  EXPECT_EQ(first.InstallList(second, 2, true).meeting, Meeting::kAlike);
  EXPECT_EQ(first.stable(), (StableTime{5, 1}));
  EXPECT_EQ(first.purged, 5u);
  EXPECT_EQ(first.reached, (StableTime{5, 1}));
  EXPECT_TRUE(first.HasListOf(second));
  EXPECT_FALSE(first.may_hold_deleted_pairs);
}

TEST(MeetingTest, WithoutListsAForgottenPastMustBeTheSame) {
  GcState copy;
  copy.stable_time = 5;
  ExpectVerdicts(copy, 1, Meeting::kOutOfReach, {}, 2, Meeting::kOutOfReach,
                 "have no member list");
  ExpectVerdicts(copy, 1, Meeting::kAlike, copy, 2, Meeting::kAlike);
  copy.purged = 5;
  GcState fell_back = copy;
  fell_back.purged = 6;
  ExpectVerdicts(copy, 1, Meeting::kOutOfReach, fell_back, 2,
                 Meeting::kOutOfReach, "have no member list");
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
  ASSERT_EQ(knows.InstallList(acknowledged, 1, true).meeting, Meeting::kAlike);
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
  ExpectVerdicts(acknowledged, 3, Meeting::kRolledBack, older, 2,
                 Meeting::kRolledBack);
  SetAcknowledged(&older, {0, 5, 0});
  older.max_acknowledged = 5;
  ExpectVerdicts(acknowledged, 3, Meeting::kTeach, older, 2, Meeting::kLearn);
  // A copy from before, and one from after.
  GcState copy;
  EXPECT_EQ(copy.InstallList(acknowledged, 4, true).meeting,
            Meeting::kOutOfReach);
  GcState late = acknowledged.AsNewReplica();
  EXPECT_EQ(late.InstallList(acknowledged, 4, true).meeting, Meeting::kAlike);
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
  ExpectVerdicts(now, 2, Meeting::kOutOfReach, member, 1, Meeting::kOutOfReach,
                 "replica 0000000000000002 may hold pairs");
  // A member that was there all along takes no harm.
  GcState sound = list;
  EXPECT_EQ(sound.AgreeOnTerms(list, old, 1, &identity_conflict),
            (Terms{2, 0, 0, false}));
  EXPECT_FALSE(sound.may_hold_deleted_pairs);
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

Incarnation InIncarnation(uint64_t counter, uint64_t random, uint64_t clock) {
  return {.incarnation = {counter, random},
          .first_clock = clock,
          .clock = clock,
          .past = {.since = counter - 1, .incarnations = {}}};
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
  EXPECT_TRUE(a.RecordSource(2, {4, 7}, 60));
  EXPECT_EQ(a.members[1].incarnation.clock, 60u);
  EXPECT_TRUE(a.RecordSource(2, {4, 7}, 0));
  EXPECT_EQ(a.members[1].incarnation.clock, 60u);
  // A copy that parted at 55 is another one.
  EXPECT_FALSE(TwoContinues(a, InIncarnation(5, 7, 55)));
  EXPECT_FALSE(a.RecordSource(2, {4, 8}, 60));
  GcState nobody;
  EXPECT_TRUE(nobody.RecordSource(2, {4, 8}, 60));
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

TEST(KnowledgeTest, AHorizonThatOthersMovedMeanwhileStays) {
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

// --- Bytes ------------------------------------------------------------------

GcState Example() {
  GcState example = Of(300, {0x11, 0x22});
  example.may_hold_deleted_pairs = true;
  example.stable_time = 0x0102;
  example.stable_epoch = 2;
  example.purged = 0x0405;
  example.reached = {0x0203, 3};
  SetSummary(&example, {0x0304, 5});
  SetAcknowledged(&example, {6, 0x0708});
  example.max_acknowledged = 0x0709;
  return example;
}

// No beginning of them decodes, nor anything behind them.
void ExpectNothingLessOrMore(const std::string& bytes) {
  GcState decoded;
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decoded.DecodeFrom(std::string_view(bytes).substr(0, size)));
  }
  EXPECT_FALSE(decoded.DecodeFrom(bytes + '\0'));
}

TEST(GcStateBytesTest, Literal) {
  std::string bytes;
  Example().EncodeTo(&bytes);
  EXPECT_EQ(absl::BytesToHexString(bytes),
            "01"                // may hold deleted pairs
            "ac02"              // epoch 300
            "0000000000000102"  // stable time
            "02"                // reached in epoch 2
            "0000000000000405"  // purged
            "0000000000000203"  // the latest stable time that was reached
            "03"                // in epoch 3
            "0000000000000709"  // promised
            "02"                // two members
            "0000000000000011"
            "ac02"
            "0000000000000304"
            "0000000000000006"
            "0000000000000022"
            "ac02"
            "0000000000000005"
            "0000000000000708");
  GcState decoded;
  ASSERT_TRUE(decoded.DecodeFrom(bytes));
  EXPECT_EQ(decoded, Example());
}

GcState ExampleWithIncarnations() {
  GcState example = Example();
  example.members[1].incarnation = {
      .incarnation = {300, 0x33},
      .first_clock = 0x44,
      .clock = 0x55,
      .past = {.since = 298, .incarnations = {{{299, 0x66}, 0x44}}}};
  return example;
}

TEST(GcStateBytesTest, LiteralWithIncarnations) {
  std::string without;
  Example().EncodeTo(&without);
  std::string bytes;
  ExampleWithIncarnations().EncodeTo(&bytes);
  EXPECT_EQ(bytes[0], 3);
  EXPECT_EQ(bytes.substr(1, without.size() - 1), without.substr(1));
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(without.size())),
            "00"    // of the first nothing is known
            "ac02"  // incarnation 300
            "0000000000000033"
            "0000000000000044"
            "0000000000000055"
            "aa02"  // all lives after 298:
            "01"
            "ab02"
            "0000000000000066"
            "0000000000000044");
  GcState decoded;
  ASSERT_TRUE(decoded.DecodeFrom(bytes));
  EXPECT_EQ(decoded, ExampleWithIncarnations());
  ExpectNothingLessOrMore(bytes);
  // With lives, but none is known.
  without[0] = 3;
  EXPECT_FALSE(decoded.DecodeFrom(without + std::string(2, '\0')));
  // More than anybody hands on.
  GcState long_past = ExampleWithIncarnations();
  long_past.members[1].incarnation.past.incarnations.resize(
      kMaxPastIncarnations + 1);
  bytes.clear();
  long_past.EncodeTo(&bytes);
  EXPECT_FALSE(decoded.DecodeFrom(bytes));
}

TEST(GcStateBytesTest, TheLargestIsWithinItsBound) {
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < kMaxMembers; ++i) ids.push_back(UINT64_MAX - i);
  GcState largest;
  largest.epoch = UINT64_MAX - 1;
  ASSERT_TRUE(largest.SetMembers(UINT64_MAX, ids, UINT64_MAX).ok());
  largest.stable_epoch = largest.reached.epoch = UINT64_MAX;
  Incarnation incarnation = InIncarnation(UINT64_MAX, 1, 1);
  incarnation.past.incarnations.resize(kMaxPastIncarnations,
                                       {{UINT64_MAX, 1}, 1});
  for (Member& member : largest.members) member.incarnation = incarnation;
  std::string bytes;
  largest.EncodeTo(&bytes);
  EXPECT_LE(bytes.size(), kMaxGcStateBytes);
  GcState decoded;
  EXPECT_TRUE(decoded.DecodeFrom(bytes));
}

TEST(GcStateBytesTest, WhatNoEncoderMakesIsRefused) {
  std::string bytes;
  Example().EncodeTo(&bytes);
  GcState decoded;
  ExpectNothingLessOrMore(bytes);
  const auto refused = [](const auto& change) {
    GcState wrong = Example();
    change(&wrong);
    std::string encoded;
    wrong.EncodeTo(&encoded);
    GcState out;
    return !out.DecodeFrom(encoded);
  };
  EXPECT_TRUE(refused([](GcState* f) { f->stable_epoch = 301; }));
  EXPECT_TRUE(refused([](GcState* f) { f->reached.epoch = 301; }));
  EXPECT_TRUE(refused([](GcState* f) { f->purged = 0x0101; }));
  EXPECT_TRUE(refused([](GcState* f) { f->bootstrapping = true; }));
  EXPECT_TRUE(refused([](GcState* f) { f->epoch = 0; }));
  EXPECT_TRUE(refused([](GcState* f) { f->members.clear(); }));
  EXPECT_TRUE(refused([](GcState* f) { f->members[0].since = 301; }));
  EXPECT_TRUE(refused([](GcState* f) { f->members[0].replica_id = 0x22; }));
  bytes[0] = 8;
  EXPECT_FALSE(decoded.DecodeFrom(bytes));
}

TEST(GcStateBytesTest, TheCountIsBoundedBeforeAnythingIsMade) {
  std::string bytes("\0\1", 2);
  bytes += std::string(8 + 1 + 8 + 8 + 1, '\0');
  bytes += "\xff\xff\x7f";
  GcState decoded;
  EXPECT_FALSE(decoded.DecodeFrom(bytes));
  EXPECT_TRUE(decoded.members.empty());
}

TEST(GcStateBytesTest, MoreMembersThanThereMayBeAreRefused) {
  for (const size_t count : {kMaxMembers, kMaxMembers + 1}) {
    GcState gc;
    gc.epoch = 1;
    for (uint64_t id = 1; id <= count; ++id) {
      gc.members.push_back({id, 1});
    }
    std::string bytes;
    gc.EncodeTo(&bytes);
    GcState decoded;
    EXPECT_EQ(decoded.DecodeFrom(bytes), count == kMaxMembers);
  }
}

TEST(GcStateBytesTest, AnAnnouncement) {
  const std::string bytes = Announcement{0x0a0b, Example()}.Encode();
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(0, 9)), "150000000000000a0b");
  Announcement decoded;
  ASSERT_TRUE(decoded.DecodeFrom(bytes));
  EXPECT_EQ(decoded.reading, 0x0a0bu);
  EXPECT_EQ(decoded.gc, Example());
  for (const std::string& wrong :
       {std::string(), std::string("\x16") + bytes.substr(1),
        bytes.substr(0, 8), bytes.substr(0, 20)}) {
    EXPECT_FALSE(decoded.DecodeFrom(wrong));
  }
}

}  // namespace
}  // namespace rocksync
