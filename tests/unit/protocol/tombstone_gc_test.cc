#include "replication/protocol/tombstone_gc.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rocksync {
namespace {

using testing::HasSubstr;

MemberList List(uint64_t epoch, std::vector<uint64_t> ids,
                const MemberList& after = {}) {
  return *SucceedingList(after, epoch, ids, ids.front());
}

GcState Of(const MemberList& list) {
  GcState knows;
  Found(list, &knows);
  return knows;
}

// It has this stable time, and knows of no other.
void Reach(const StableTime& stable_time, GcState* knows) {
  knows->stable_time = knows->purged = stable_time.time;
  knows->stable_epoch = stable_time.epoch;
  knows->reached = stable_time;
}

// --- Lists ------------------------------------------------------------------

TEST(MemberListTest, FollowsTheOneBefore) {
  const MemberList first = List(3, {7, 5});
  EXPECT_EQ(first.members, (std::vector<Member>{{5, 3}, {7, 3}}));
  const MemberList second = List(4, {9, 5}, first);
  EXPECT_EQ(second.members, (std::vector<Member>{{5, 3}, {9, 4}}));
  EXPECT_EQ(second.Find(9), 1u);
  EXPECT_EQ(second.Find(7), std::nullopt);
  EXPECT_EQ(second.Find(10), std::nullopt);
}

TEST(MemberListTest, WrongOnesAreRefused) {
  const MemberList now = List(3, {5});
  const auto why = [&](uint64_t epoch, std::vector<uint64_t> ids) {
    return std::string(SucceedingList(now, epoch, ids, 5).status().message());
  };
  EXPECT_THAT(why(3, {5}), HasSubstr("epoch 3 does not follow epoch 3"));
  EXPECT_THAT(why(4 + (uint64_t{1} << 32), {5}),
              HasSubstr("epoch 4294967300 leaps ahead"));
  EXPECT_THAT(why(3 + (uint64_t{1} << 32), {5}), "");
  EXPECT_THAT(why(4, {6}), HasSubstr("lacks replica 5"));
  EXPECT_THAT(why(4, {}), HasSubstr("lacks replica 5"));
  EXPECT_THAT(why(4, {5, 0}), HasSubstr("0 or there twice"));
  EXPECT_THAT(why(4, {5, 6, 6}), HasSubstr("0 or there twice"));
  EXPECT_THAT(why(4, std::vector<uint64_t>(kMaxMembers + 1, 5)),
              HasSubstr("at most 1024"));
}

// --- Meetings ---------------------------------------------------------------

void ExpectVerdicts(const GcState& a, uint64_t a_id, Meeting of_a,
                    const GcState& b, uint64_t b_id, Meeting of_b,
                    const std::string& why = "") {
  const MeetingVerdict mine = Judge(a, a_id, b, b_id);
  const MeetingVerdict other = Judge(b, b_id, a, a_id);
  EXPECT_EQ(mine.meeting, of_a) << mine.why;
  EXPECT_EQ(other.meeting, of_b) << other.why;
  EXPECT_THAT(mine.why, HasSubstr(why));
  EXPECT_THAT(other.why, HasSubstr(why));
}

TEST(MeetingTest, OneList) {
  const GcState both = Of(List(1, {1, 2}));
  ExpectVerdicts(both, 1, Meeting::kAlike, both, 2, Meeting::kAlike);
  ExpectVerdicts(both, 1, Meeting::kNotMember, both, 3, Meeting::kNotMember,
                 "replica 3 is not in the member list of epoch 1");
  ExpectVerdicts({}, 1, Meeting::kAlike, {}, 2, Meeting::kAlike);
}

TEST(MeetingTest, TheNewerListIsLearned) {
  const MemberList first = List(1, {1, 2, 3});
  const GcState newer = Of(List(2, {1, 2}, first));
  ExpectVerdicts(newer, 1, Meeting::kTeach, Of(first), 2, Meeting::kLearn);
  ExpectVerdicts(newer, 1, Meeting::kTeach, {}, 2, Meeting::kLearn);
  ExpectVerdicts(newer, 1, Meeting::kNotMember, Of(first), 3,
                 Meeting::kNotMember, "rocksync rescue");
  ExpectVerdicts(newer, 1, Meeting::kNotMember, {}, 4, Meeting::kNotMember,
                 "add it by a newer list");
}

TEST(MeetingTest, WhoWasRemovedInBetweenIsNotTakenBack) {
  const MemberList first = List(1, {1, 2, 3});
  const MemberList second = List(2, {1, 2}, first);
  const GcState third = Of(List(3, {1, 2, 3}, second));
  ExpectVerdicts(third, 1, Meeting::kTeach, Of(first), 2, Meeting::kLearn);
  ExpectVerdicts(third, 1, Meeting::kConflict, Of(first), 3, Meeting::kConflict,
                 "removed in between");
}

TEST(MeetingTest, AListFromNowhereIsNotLearned) {
  ExpectVerdicts(Of(List(9, {1, 2})), 1, Meeting::kConflict,
                 Of(List(1, {1, 2})), 2, Meeting::kConflict,
                 "set on a replica that was no member");
  // Set on 2, which had not heard of the list that 3 came in by.
  const MemberList first = List(1, {1, 2});
  const MemberList second = List(2, {1, 2, 3}, first);
  const MemberList third = List(3, {2, 3}, first);
  ExpectVerdicts(Of(third), 2, Meeting::kConflict, Of(second), 3,
                 Meeting::kConflict, "did not have the older one yet");
  ExpectVerdicts(Of(List(1, {1, 2})), 1, Meeting::kConflict,
                 Of(List(1, {1, 2, 3})), 2, Meeting::kConflict,
                 "different member lists of one epoch");
}

TEST(MeetingTest, OldDataAreOutOfReachOnceOthersHaveCollected) {
  GcState new_member;
  GcState member = Of(List(1, {1, 2}));
  EXPECT_EQ(Join(member, 2, true, &new_member).meeting, Meeting::kAlike);
  EXPECT_TRUE(new_member.unproven);
  ExpectVerdicts(member, 1, Meeting::kAlike, new_member, 2, Meeting::kAlike);
  Reach({5, 0}, &member);
  ExpectVerdicts(member, 1, Meeting::kOutOfReach, new_member, 2,
                 Meeting::kOutOfReach, "replica 2 joined with data");
  // Also if what they compare by fell back: what is purged is not there again.
  member.stable_time = 0;
  ExpectVerdicts(member, 1, Meeting::kOutOfReach, new_member, 2,
                 Meeting::kOutOfReach, "replica 2 joined with data");
  new_member.purged = 5;
  ExpectVerdicts(member, 1, Meeting::kAlike, new_member, 2, Meeting::kAlike);
  // Proven equal to a member, it is like any other.
  new_member.purged = 0;
  GcState bootstrapping = member;
  bootstrapping.bootstrapping = true;
  Proved(2, 0, 1, 1, bootstrapping, &new_member);
  EXPECT_TRUE(new_member.unproven) << "that member may lack tombstones itself";
  Proved(2, 1, 1, 1, member, &new_member);
  EXPECT_FALSE(new_member.unproven);
  ExpectVerdicts(member, 1, Meeting::kAlike, new_member, 2, Meeting::kAlike);
}

// The one that had no data, on which the first list was set, has gone.
TEST(MeetingTest, ThoseWhoAllCameWithDataAreInReachOfEachOther) {
  const MemberList first = List(1, {1, 2, 3});
  GcState two = Of(List(2, {2, 3}, first));
  GcState three = two;
  two.unproven = three.unproven = true;
  Proved(2, 10, 3, 20, three, &two);
  EXPECT_FALSE(two.unproven);
  EXPECT_TRUE(three.unproven) << "it has not heard of the proof";
  Proved(3, 20, 2, 10, Of(two.list), &three);
  EXPECT_FALSE(three.unproven);
  EXPECT_EQ(Hear(three, 2, &two), 0u);
  ASSERT_TRUE(Advance(&two));
  ExpectVerdicts(two, 2, Meeting::kAlike, three, 3, Meeting::kAlike);
  // A third that one of them has not reached yet.
  GcState of_three = Of(List(3, {2, 3, 4}, two.list));
  of_three.unproven = true;
  Proved(2, 10, 3, 20, of_three, &of_three);
  EXPECT_TRUE(of_three.unproven);
}

// A copy of a member is opened as a new replica and joins again; by it a
// new member still knows that an older state of another member's disk is one.
TEST(MeetingTest, ACopyRemembersInWhichEpochItCollected) {
  const MemberList first = List(1, {1, 2});
  const MemberList second = List(2, {1, 2}, first);
  GcState copied = Of(second);
  copied.unproven = true;
  Reach({5, 2}, &copied);
  GcState copy = AsNewReplica(copied);
  EXPECT_FALSE(copy.unproven);
  EXPECT_EQ(copy.list.epoch, 0u);
  std::string bytes;
  EncodeGcState(copy, &bytes);
  GcState reopened;
  ASSERT_TRUE(DecodeGcState(bytes, &reopened));
  EXPECT_EQ(reopened, copy);
  GcState member = Of(List(3, {1, 2, 3, 4}, second));
  member.max_acknowledged = 5;
  ASSERT_EQ(Join(member, 3, true, &copy).meeting, Meeting::kAlike);
  EXPECT_EQ(StableTimeOf(copy), (StableTime{5, 2}));
  ExpectVerdicts(copy, 3, Meeting::kRolledBack, Of(first), 2,
                 Meeting::kRolledBack, "acknowledged more");
  // In another cluster, say, with younger lists: not in this epoch.
  GcState elsewhere;
  Reach({5, 9}, &elsewhere);
  Found(List(2, {7}), &elsewhere);
  EXPECT_EQ(StableTimeOf(elsewhere), (StableTime{5, 1}));
  EXPECT_EQ(elsewhere.reached, StableTime());
  EXPECT_EQ(elsewhere.purged, 5u);
}

TEST(MeetingTest, WhoAcknowledgedMoreThanItKnowsWasRolledBack) {
  GcState kept = Of(List(1, {1, 2}));
  GcState back = kept;
  kept.acknowledged = back.acknowledged = {3, 8};
  kept.max_acknowledged = 3;
  back.max_acknowledged = 8;
  ExpectVerdicts(kept, 1, Meeting::kAlike, back, 2, Meeting::kAlike);
  back.acknowledged = {3, 7};
  back.max_acknowledged = 7;
  ExpectVerdicts(kept, 1, Meeting::kRolledBack, back, 2, Meeting::kRolledBack,
                 "replica 2 acknowledged more");
  // To have heard less of others is no fault.
  back.acknowledged = {2, 9};
  back.max_acknowledged = 9;
  ExpectVerdicts(kept, 1, Meeting::kAlike, back, 2, Meeting::kAlike);
}

// An operator sets the next list on an older state of a member's disk: what it
// promised in the list before is not known to it, but to the others.
TEST(MeetingTest, ANewerListDoesNotHideThatItsMemberWasRolledBack) {
  const MemberList first = List(1, {1, 2});
  GcState kept = Of(first);
  kept.acknowledged = {8, 8};
  kept.max_acknowledged = 8;
  GcState back = Of(List(2, {1, 2}, first));
  back.max_acknowledged = 7;
  ExpectVerdicts(kept, 1, Meeting::kRolledBack, back, 2, Meeting::kRolledBack,
                 "replica 2 acknowledged more");
  back.max_acknowledged = 8;
  ExpectVerdicts(kept, 1, Meeting::kLearn, back, 2, Meeting::kTeach);
  // Nor is it hidden from one that has the newer list by another way, as soon
  // as it knows of a stable time that took as much.
  ASSERT_EQ(Join(back, 1, true, &kept).meeting, Meeting::kAlike);
  back.max_acknowledged = 7;
  ExpectVerdicts(kept, 1, Meeting::kAlike, back, 2, Meeting::kAlike);
  kept.reached = {8, 1};
  ExpectVerdicts(kept, 1, Meeting::kRolledBack, back, 2, Meeting::kRolledBack);
  // Of one that came later nobody expects that it was in that epoch.
  back.list.members[1].since = kept.list.members[1].since = 2;
  ExpectVerdicts(kept, 1, Meeting::kAlike, back, 2, Meeting::kAlike);
}

// Set on a replica that was removed, and did not know: by its list it is a
// member all along, with pairs that the others have deleted meanwhile.
TEST(MeetingTest, AListThatFollowsAnOlderOneIsRefused) {
  const MemberList first = List(1, {1, 2, 3});
  const GcState kept = Of(List(2, {1, 2}, first));
  for (const uint64_t epoch : {3, 7}) {
    const GcState removed = Of(List(epoch, {1, 2, 3}, first));
    ExpectVerdicts(kept, 1, Meeting::kConflict, removed, 3, Meeting::kConflict,
                   "it has replica 3 for a member since epoch 1");
    // Nor by way of a member that had not heard of the second list either.
    ExpectVerdicts(kept, 1, Meeting::kConflict, removed, 2, Meeting::kConflict);
  }
  // Its way back.
  const GcState back = Of(List(3, {1, 2, 3}, kept.list));
  ExpectVerdicts(back, 1, Meeting::kTeach, kept, 2, Meeting::kLearn);
  ExpectVerdicts(back, 1, Meeting::kConflict, Of(first), 3, Meeting::kConflict,
                 "was removed in between");
}

// Not that it says it: a copy from another cluster.
TEST(MeetingTest, MarksOfAnotherClusterAreDroppedAtTheDoor) {
  GcState member = Of(List(10, {1, 2, 3}, List(1, {1, 2})));
  member.max_acknowledged = 4;
  GcState copy;
  Reach({5, 3}, &copy);
  ASSERT_EQ(Join(member, 3, true, &copy).meeting, Meeting::kAlike);
  EXPECT_EQ(copy.reached, StableTime());
  EXPECT_EQ(copy.purged, 5u);
  ExpectVerdicts(copy, 3, Meeting::kAlike, member, 1, Meeting::kAlike);
}

// Two set-ups of one incarnation cross on two connections.
TEST(MeetingTest, WhatWasOvertakenIsNotHeldAgainstAnybody) {
  GcState ahead = Of(List(1, {1, 2}));
  GcState old = ahead;
  ahead.acknowledged = {3, 8};
  ahead.max_acknowledged = 3;
  old.acknowledged = {3, 7};
  old.max_acknowledged = 7;
  const auto verdict = [&](const Said& mine, const Said& theirs) {
    return Judge(ahead, 1, old, 2, {mine, theirs}).meeting;
  };
  EXPECT_EQ(verdict({}, {.max_acknowledged = 8}), Meeting::kAlike);
  EXPECT_EQ(verdict({}, {.max_acknowledged = 7}), Meeting::kRolledBack);
  EXPECT_EQ(verdict({.max_acknowledged = 8}, {}), Meeting::kRolledBack);
  EXPECT_EQ(Judge(old, 2, ahead, 1, {{.max_acknowledged = 8}, {}}).meeting,
            Meeting::kAlike);
}

TEST(MeetingTest, WhoMissesItsPartInAHorizonWasRolledBack) {
  const MemberList first = List(1, {1, 2});
  GcState newer = Of(List(3, {1, 2}, first));
  newer.reached = {8, 1};
  newer.max_acknowledged = 8;
  GcState older = Of(first);
  older.max_acknowledged = 8;
  ExpectVerdicts(newer, 1, Meeting::kTeach, older, 2, Meeting::kLearn);
  older.acknowledged = {8, 7};
  older.max_acknowledged = 7;
  ExpectVerdicts(newer, 1, Meeting::kRolledBack, older, 2, Meeting::kRolledBack,
                 "replica 2 acknowledged more");
  EXPECT_EQ(Judge(newer, 1, older, 2, {{}, {.max_acknowledged = 8}}).meeting,
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
  GcState knows = Of(List(1, {1, 2}));
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
  GcState member = Of(List(1, {1, 2}));
  Reach({5, 1}, &member);
  GcState new_member;
  const MeetingVerdict verdict = Join(member, 2, true, &new_member);
  EXPECT_EQ(verdict.meeting, Meeting::kOutOfReach);
  EXPECT_THAT(verdict.why, HasSubstr("replica 2 joined with data"));
  EXPECT_EQ(new_member, GcState{});
  member.stable_time = 0;  // back again
  EXPECT_EQ(Join(member, 2, true, &new_member).meeting, Meeting::kOutOfReach);
  member.stable_time = 5;
  // Empty, it does; and a copy that has collected as much.
  EXPECT_EQ(Join(member, 2, false, &new_member).meeting, Meeting::kAlike);
  EXPECT_EQ(new_member.stable_time, 5u);
  EXPECT_EQ(new_member.purged, 5u);
  EXPECT_EQ(new_member.reached, (StableTime{5, 1}));
  EXPECT_FALSE(new_member.unproven);
  EXPECT_TRUE(new_member.bootstrapping);
  Proved(2, 1, 1, 1, member, &new_member);
  EXPECT_FALSE(new_member.bootstrapping);
  GcState copy;
  Reach({6, 0}, &copy);
  EXPECT_EQ(Join(member, 2, true, &copy).meeting, Meeting::kAlike);
  EXPECT_EQ(copy.stable_time, 6u);
  EXPECT_TRUE(copy.unproven);
  EXPECT_FALSE(copy.bootstrapping);
}

TEST(MeetingTest, AMemberTakesAlongWhatItsEpochHasReached) {
  GcState first = Of(List(1, {1, 2}));
  GcState second = Of(List(2, {1, 2}, first.list));
  Reach({5, 1}, &second);
  EXPECT_EQ(Join(second, 2, true, &first).meeting, Meeting::kAlike);
  EXPECT_EQ(StableTimeOf(first), (StableTime{5, 1}));
  EXPECT_EQ(first.purged, 5u);
  EXPECT_EQ(first.reached, (StableTime{5, 1}));
  EXPECT_EQ(first.list, second.list);
  EXPECT_FALSE(first.unproven);
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
  const MemberList first = List(1, {1, 2, 3});
  GcState knows = Of(first);
  Reach({5, 1}, &knows);
  knows.acknowledged = {5, 5, 5};
  GcState acknowledged = Of(first);
  acknowledged.acknowledged = {5, 0, 5};
  knows.max_acknowledged = acknowledged.max_acknowledged = 5;
  Found(List(2, {1, 2, 3, 4}, first), &acknowledged);
  ASSERT_EQ(Join(acknowledged, 1, true, &knows).meeting, Meeting::kAlike);
  EXPECT_EQ(StableTimeOf(knows), (StableTime{5, 1}));
  const GcState said = knows;
  uint64_t identity_conflict = 0;
  const Terms of_one =
      AgreeOnTerms(said, acknowledged, 1, &knows, &identity_conflict);
  const Terms of_three =
      AgreeOnTerms(acknowledged, said, 3, &acknowledged, &identity_conflict);
  EXPECT_EQ(of_one, (Terms{2, 0, 5, false}));
  EXPECT_EQ(of_three, of_one);
  for (const GcState& one : {knows, acknowledged}) {
    EXPECT_EQ(TermsOf(one), of_one);
    EXPECT_EQ(one.reached, (StableTime{5, 1}));
  }
  // A member of the first list that has not heard of it, and missed nothing.
  GcState older = Of(first);
  ExpectVerdicts(acknowledged, 3, Meeting::kRolledBack, older, 2,
                 Meeting::kRolledBack);
  older.acknowledged = {0, 5, 0};
  older.max_acknowledged = 5;
  ExpectVerdicts(acknowledged, 3, Meeting::kTeach, older, 2, Meeting::kLearn);
  // A copy from before, and one from after.
  GcState copy;
  EXPECT_EQ(Join(acknowledged, 4, true, &copy).meeting, Meeting::kOutOfReach);
  GcState late = AsNewReplica(acknowledged);
  EXPECT_EQ(Join(acknowledged, 4, true, &late).meeting, Meeting::kAlike);
  EXPECT_EQ(TermsOf(late), (Terms{2, 0, 5, true}));
}

// It came empty, so nobody holds old data against it; it took those of another.
TEST(MeetingTest, WhoTakesOldPairsWhileItIsFilledIsAsTheyAre) {
  const MemberList list = List(2, {1, 2, 3});
  GcState bootstrapping = Of(list);
  bootstrapping.bootstrapping = true;
  GcState old = Of(list);
  old.unproven = true;
  GcState now = bootstrapping;
  uint64_t identity_conflict = 0;
  EXPECT_EQ(AgreeOnTerms(bootstrapping, old, 2, &now, &identity_conflict),
            (Terms{2, 0, 0, true}));
  EXPECT_TRUE(now.unproven);
  EXPECT_FALSE(now.bootstrapping);
  // To others it has said otherwise before.
  GcState member = Of(list);
  EXPECT_EQ(AgreeOnTerms(bootstrapping, member, 2, &now, &identity_conflict),
            (Terms{2, 0, 0, false}));
  EXPECT_FALSE(StillHold({2, 0, 0, false}, TermsOf(now)));
  EXPECT_TRUE(StillHold({2, 0, 0, true}, TermsOf(bootstrapping)));
  for (const Terms& other :
       {Terms{3, 0, 0, true}, {2, 1, 0, true}, {2, 0, 1, true}}) {
    EXPECT_FALSE(StillHold(other, TermsOf(now)));
  }
  // It hears of what was purged, and its data are no younger by that.
  member.purged = 5;
  EXPECT_EQ(AgreeOnTerms(bootstrapping, member, 2, &now, &identity_conflict),
            (Terms{2, 0, 5, false}));
  EXPECT_EQ(now.purged, 0u);
  ExpectVerdicts(now, 2, Meeting::kOutOfReach, member, 1, Meeting::kOutOfReach,
                 "replica 2 joined with data");
  // A member that was there all along takes no harm.
  GcState sound = Of(list);
  EXPECT_EQ(AgreeOnTerms(Of(list), old, 1, &sound, &identity_conflict),
            (Terms{2, 0, 0, false}));
  EXPECT_FALSE(sound.unproven);
}

// --- Knowledge --------------------------------------------------------------

TEST(KnowledgeTest, IsHandedOn) {
  GcState a = Of(List(1, {1, 2, 3}));
  GcState b = a;
  b.summary = {0, 7, 9};
  Proved(1, 4, 2, 6, b, &a);
  EXPECT_EQ(a.summary, (std::vector<uint64_t>{4, 7, 9}));
  EXPECT_EQ(a.acknowledged, (std::vector<uint64_t>{4, 0, 0}));
  GcState c = Of(List(1, {1, 2, 3}));
  c.acknowledged = {99, 5, 8};
  EXPECT_EQ(Hear(c, 1, &a), 0u);
  EXPECT_EQ(a.acknowledged,
            (std::vector<uint64_t>{4, 5, 8}));  // 1 speaks for 1
  EXPECT_EQ(Attainable(a), 4u);
  EXPECT_TRUE(Advance(&a));
  EXPECT_EQ(StableTimeOf(a), (StableTime{4, 1}));
  EXPECT_FALSE(Advance(&a));
}

TEST(KnowledgeTest, WhoWentBackIsNoticed) {
  GcState a = Of(List(1, {1, 2}));
  a.summary = {0, 7};
  EXPECT_TRUE(WentBack(a, 2, 6, {}));
  EXPECT_FALSE(WentBack(a, 2, 7, {}));
  EXPECT_FALSE(WentBack(a, 3, 6, {}));
  // It has said 7 itself, in this incarnation: the reading was overtaken.
  EXPECT_FALSE(WentBack(a, 2, 6, {.reading = 7}));
  EXPECT_TRUE(WentBack(a, 2, 5, {.reading = 6}));
}

Incarnation InIncarnation(uint64_t counter, uint64_t random, uint64_t clock) {
  return {.incarnation = {counter, random},
          .first_clock = clock,
          .clock = clock,
          .past = {.since = counter - 1, .incarnations = {}}};
}

// 1 met replica 3, 2 met a copy of it: neither knows of the other.
TEST(KnowledgeTest, OfIdentityConflictIsNotPutTogether) {
  GcState a = Of(List(1, {1, 2, 3}));
  a.incarnations[2] = InIncarnation(4, 7, 50);
  GcState b = Of(a.list);
  b.summary = {10, 11, 12};
  b.acknowledged = {0, 10, 10};
  b.incarnations[2] = InIncarnation(4, 8, 50);
  GcState now = a;
  EXPECT_EQ(Hear(b, 1, &now), 3u);
  EXPECT_EQ(now, a);
  // What 2 holds of all others is as good as before.
  Proved(1, 20, 2, 21, b, &now);
  EXPECT_EQ(now.summary, (std::vector<uint64_t>{20, 21, 0}));
  EXPECT_EQ(now.acknowledged, (std::vector<uint64_t>{0, 0, 0}));
  EXPECT_EQ(now.incarnations[2], a.incarnations[2]);
  // One incarnation, or one that follows.
  for (const Incarnation& incarnation :
       {InIncarnation(4, 7, 40), InIncarnation(5, 9, 50)}) {
    b.incarnations[2] = incarnation;
    now = a;
    EXPECT_EQ(Hear(b, 1, &now), 0u);
    EXPECT_EQ(now.acknowledged, (std::vector<uint64_t>{0, 10, 10}));
    EXPECT_EQ(now.incarnations[2].incarnation, incarnation.incarnation);
    EXPECT_EQ(now.incarnations[2].clock, 50u);
    Proved(1, 20, 2, 21, b, &now);
    EXPECT_EQ(now.summary, (std::vector<uint64_t>{20, 21, 12}));
  }
}

TEST(KnowledgeTest, WhoHearsOfALaterIncarnationOfItsOwnBelievesItself) {
  GcState a = Of(List(1, {1, 2}));
  SetOwnIncarnation(1, InIncarnation(4, 7, 50), &a);
  GcState b = Of(a.list);
  b.acknowledged = {0, 10};
  b.incarnations[0] = InIncarnation(5, 8, 60);
  GcState now = a;
  EXPECT_EQ(Hear(b, 1, &now), 1u);
  EXPECT_EQ(now, a);
  b.incarnations[0] = InIncarnation(4, 7, 70);
  EXPECT_EQ(Hear(b, 1, &now), 0u);
  EXPECT_EQ(now.acknowledged, b.acknowledged);
  EXPECT_EQ(now.incarnations, a.incarnations);
}

// 2 says that it runs in the incarnation in which it is met.
bool TwoContinues(const GcState& mine, const Incarnation& incarnation) {
  GcState two = Of(List(1, {1, 2}));
  two.incarnations[1] = incarnation;
  return Continues(mine, 2, incarnation.incarnation, two);
}

// 2 is met in an incarnation; others have spoken of another.
TEST(KnowledgeTest, APeerGoesOnInItsLine) {
  GcState a = Of(List(1, {1, 2}));
  a.incarnations[1] = InIncarnation(4, 7, 50);
  EXPECT_TRUE(TwoContinues(a, InIncarnation(4, 7, 40)));
  EXPECT_TRUE(TwoContinues(a, InIncarnation(5, 7, 50)));
  EXPECT_FALSE(TwoContinues(a, InIncarnation(5, 7, 49)));
  EXPECT_FALSE(TwoContinues(a, InIncarnation(4, 8, 50)));
  EXPECT_FALSE(TwoContinues(a, InIncarnation(3, 7, 50)));
  EXPECT_TRUE(TwoContinues({}, InIncarnation(3, 7, 50)));
  GcState b = Of(a.list);
  EXPECT_TRUE(Continues(a, 3, {3, 7}, b));
  EXPECT_FALSE(Continues(a, 2, {4, 7}, b));  // it says something else
  // A session in an incarnation that is over proves nothing.
  b.incarnations[1] = InIncarnation(3, 7, 50);
  const GcState before = a;
  Proved(1, 20, 2, 21, b, &a);
  EXPECT_EQ(a, before);
}

TEST(KnowledgeTest, WhatIsTakenMayBeLaterThanTheReading) {
  GcState a = Of(List(1, {1, 2}));
  a.incarnations[1] = InIncarnation(4, 7, 50);
  EXPECT_TRUE(RecordSource(2, {4, 7}, 60, &a));
  EXPECT_EQ(a.incarnations[1].clock, 60u);
  EXPECT_TRUE(RecordSource(2, {4, 7}, 0, &a));
  EXPECT_EQ(a.incarnations[1].clock, 60u);
  // A copy that parted at 55 is another one.
  EXPECT_FALSE(TwoContinues(a, InIncarnation(5, 7, 55)));
  EXPECT_FALSE(RecordSource(2, {4, 8}, 60, &a));
  GcState nobody;
  EXPECT_TRUE(RecordSource(2, {4, 8}, 60, &nobody));
}

TEST(KnowledgeTest, ReadingsAreTakenAsFarAsTheyAreTrusted) {
  Announcement said = {90, Of(List(1, {1, 2}))};
  said.gc.summary = {40, 60};
  said.gc.incarnations = {InIncarnation(1, 7, 70), InIncarnation(1, 8, 30)};
  const GcState heard =
      Heard(said, 2, [](uint64_t reading) { return std::min(reading, 50ul); });
  EXPECT_EQ(heard.summary, (std::vector<uint64_t>{40, 50}));
  EXPECT_EQ(heard.incarnations[0].clock, 50u);
  EXPECT_EQ(heard.incarnations[1].clock, 50u);  // its reading
  EXPECT_EQ(heard.incarnations[0].first_clock, 70u);
}

TEST(KnowledgeTest, OfIncarnationsNoMoreThanIsNeeded) {
  GcState a = Of(List(1, {1, 2}));
  Incarnation own = InIncarnation(20, 7, 300);
  own.past = {.since = 0};
  for (uint64_t counter = 1; counter < 20; ++counter) {
    Append({counter, 7}, 10 * counter, &own.past);
  }
  SetOwnIncarnation(1, own, &a);
  EXPECT_EQ(a.incarnations[0].past, own.past);
  a.acknowledged = {180, 190};  // nobody goes by what ended before
  EXPECT_EQ(Hear(Of(a.list), 1, &a), 0u);
  EXPECT_EQ(a.incarnations[0].past, (IncarnationHistory{18, {{{19, 7}, 190}}}));
}

TEST(KnowledgeTest, NothingWithoutAList) {
  GcState a;
  Proved(1, 4, 2, 6, {}, &a);
  EXPECT_EQ(a, GcState{});
  EXPECT_FALSE(Advance(&a));
  EXPECT_EQ(HeldUpBy(a, 1), 0u);
}

TEST(KnowledgeTest, ANewListStartsAnew) {
  GcState a = Of(List(1, {1, 2, 3}));
  a.summary = a.acknowledged = {4, 4, 4};
  EXPECT_TRUE(Advance(&a));
  Found(List(2, {1, 2}, a.list), &a);
  EXPECT_EQ(a.summary, (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(a.acknowledged, (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(StableTimeOf(a), (StableTime{4, 1}));
  EXPECT_FALSE(a.unproven);  // it was a member before
}

TEST(KnowledgeTest, StableTimesAreAgreedUpon) {
  EXPECT_EQ(Agree({5, 2}, {9, 2}, 2), (StableTime{9, 2}));
  EXPECT_EQ(Agree({5, 2}, {9, 1}, 2), (StableTime{5, 2}));
  EXPECT_EQ(Agree({9, 1}, {5, 2}, 2), (StableTime{5, 2}));
  EXPECT_EQ(Agree({9, 1}, {5, 0}, 2), (StableTime{5, 0}));
}

TEST(KnowledgeTest, AHorizonThatOthersMovedMeanwhileStays) {
  const GcState said = Of(List(1, {1, 2}));
  GcState peer = said;
  Reach({5, 1}, &peer);
  peer.acknowledged = {9, 6};
  GcState now = said;
  uint64_t identity_conflict = 9;
  EXPECT_EQ(AgreeOnTerms(said, peer, 1, &now, &identity_conflict),
            (Terms{1, 5, 5}));
  EXPECT_EQ(StableTimeOf(now), (StableTime{5, 1}));
  EXPECT_EQ(now.acknowledged, (std::vector<uint64_t>{0, 6}));
  Reach({7, 1}, &now);
  EXPECT_EQ(AgreeOnTerms(said, peer, 1, &now, &identity_conflict),
            (Terms{1, 5, 5}));
  EXPECT_EQ(StableTimeOf(now), (StableTime{7, 1}));
  // Another list by now: what was agreed upon concerns it no more.
  Found(List(2, {1, 2}, now.list), &now);
  const GcState before = now;
  EXPECT_EQ(AgreeOnTerms(said, peer, 1, &now, &identity_conflict),
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
  GcState a = Of(List(1, {1, 2, 3}));
  a.summary = {9, 9, 4};
  EXPECT_EQ(HeldUpBy(a, 1), 3u);
  a.summary = {9, 3, 4};
  EXPECT_EQ(HeldUpBy(a, 1), 2u);
  a.summary = {9, 9, 9};
  EXPECT_EQ(HeldUpBy(a, 1), 0u);
  a.acknowledged = {9, 8, 7};
  EXPECT_EQ(HeldUpBy(a, 1), 3u);
  EXPECT_EQ(HeldUpBy(a, 4), 0u);
  EXPECT_EQ(HeldUpBy(Of(List(1, {1})), 1), 0u);
}

// --- Bytes ------------------------------------------------------------------

GcState Example() {
  GcState example = Of(List(300, {0x11, 0x22}));
  example.unproven = true;
  example.stable_time = 0x0102;
  example.stable_epoch = 2;
  example.purged = 0x0405;
  example.reached = {0x0203, 3};
  example.summary = {0x0304, 5};
  example.acknowledged = {6, 0x0708};
  example.max_acknowledged = 0x0709;
  return example;
}

// No beginning of them decodes, nor anything behind them.
void ExpectNothingLessOrMore(const std::string& bytes) {
  GcState decoded;
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(
        DecodeGcState(std::string_view(bytes).substr(0, size), &decoded));
  }
  EXPECT_FALSE(DecodeGcState(bytes + '\0', &decoded));
}

TEST(GcStateBytesTest, Literal) {
  std::string bytes;
  EncodeGcState(Example(), &bytes);
  EXPECT_EQ(absl::BytesToHexString(bytes),
            "01"                // unproven
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
  ASSERT_TRUE(DecodeGcState(bytes, &decoded));
  EXPECT_EQ(decoded, Example());
}

GcState ExampleWithIncarnations() {
  GcState example = Example();
  example.incarnations[1] = {
      .incarnation = {300, 0x33},
      .first_clock = 0x44,
      .clock = 0x55,
      .past = {.since = 298, .incarnations = {{{299, 0x66}, 0x44}}}};
  return example;
}

TEST(GcStateBytesTest, LiteralWithIncarnations) {
  std::string without;
  EncodeGcState(Example(), &without);
  std::string bytes;
  EncodeGcState(ExampleWithIncarnations(), &bytes);
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
  ASSERT_TRUE(DecodeGcState(bytes, &decoded));
  EXPECT_EQ(decoded, ExampleWithIncarnations());
  ExpectNothingLessOrMore(bytes);
  // With lives, but none is known.
  without[0] = 3;
  EXPECT_FALSE(DecodeGcState(without + std::string(2, '\0'), &decoded));
  // More than anybody hands on.
  GcState long_past = ExampleWithIncarnations();
  long_past.incarnations[1].past.incarnations.resize(kMaxPastIncarnations + 1);
  bytes.clear();
  EncodeGcState(long_past, &bytes);
  EXPECT_FALSE(DecodeGcState(bytes, &decoded));
}

TEST(GcStateBytesTest, TheLargestIsWithinItsBound) {
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < kMaxMembers; ++i) ids.push_back(UINT64_MAX - i);
  GcState largest;
  const MemberList before{.epoch = UINT64_MAX - 1, .members = {}};
  Found(*SucceedingList(before, UINT64_MAX, ids, UINT64_MAX), &largest);
  largest.stable_epoch = largest.reached.epoch = UINT64_MAX;
  Incarnation incarnation = InIncarnation(UINT64_MAX, 1, 1);
  incarnation.past.incarnations.resize(kMaxPastIncarnations,
                                       {{UINT64_MAX, 1}, 1});
  largest.incarnations.assign(kMaxMembers, incarnation);
  std::string bytes;
  EncodeGcState(largest, &bytes);
  EXPECT_LE(bytes.size(), kMaxGcStateBytes);
  GcState decoded;
  EXPECT_TRUE(DecodeGcState(bytes, &decoded));
}

TEST(GcStateBytesTest, WhatNoEncoderMakesIsRefused) {
  std::string bytes;
  EncodeGcState(Example(), &bytes);
  GcState decoded;
  ExpectNothingLessOrMore(bytes);
  const auto refused = [](const auto& change) {
    GcState wrong = Example();
    change(&wrong);
    std::string encoded;
    EncodeGcState(wrong, &encoded);
    GcState out;
    return !DecodeGcState(encoded, &out);
  };
  EXPECT_TRUE(refused([](GcState* f) { f->stable_epoch = 301; }));
  EXPECT_TRUE(refused([](GcState* f) { f->reached.epoch = 301; }));
  EXPECT_TRUE(refused([](GcState* f) { f->purged = 0x0101; }));
  EXPECT_TRUE(refused([](GcState* f) { f->bootstrapping = true; }));
  EXPECT_TRUE(refused([](GcState* f) { f->list.epoch = 0; }));
  EXPECT_TRUE(refused([](GcState* f) { f->list.members.clear(); }));
  EXPECT_TRUE(refused([](GcState* f) { f->list.members[0].since = 301; }));
  EXPECT_TRUE(
      refused([](GcState* f) { f->list.members[0].replica_id = 0x22; }));
  bytes[0] = 8;
  EXPECT_FALSE(DecodeGcState(bytes, &decoded));
}

TEST(GcStateBytesTest, TheCountIsBoundedBeforeAnythingIsMade) {
  std::string bytes("\0\1", 2);
  bytes += std::string(8 + 1 + 8 + 8 + 1, '\0');
  bytes += "\xff\xff\x7f";
  GcState decoded;
  EXPECT_FALSE(DecodeGcState(bytes, &decoded));
  EXPECT_TRUE(decoded.summary.empty());
}

TEST(GcStateBytesTest, MoreMembersThanThereMayBeAreRefused) {
  for (const size_t count : {kMaxMembers, kMaxMembers + 1}) {
    GcState gc;
    gc.list.epoch = 1;
    for (uint64_t id = 1; id <= count; ++id) {
      gc.list.members.push_back({id, 1});
    }
    gc.summary.resize(count);
    gc.acknowledged.resize(count);
    gc.incarnations.resize(count);
    std::string bytes;
    EncodeGcState(gc, &bytes);
    GcState decoded;
    EXPECT_EQ(DecodeGcState(bytes, &decoded), count == kMaxMembers);
  }
}

TEST(GcStateBytesTest, AnAnnouncement) {
  const std::string bytes = EncodeAnnouncement({0x0a0b, Example()});
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(0, 9)), "150000000000000a0b");
  Announcement decoded;
  ASSERT_TRUE(DecodeAnnouncement(bytes, &decoded));
  EXPECT_EQ(decoded.reading, 0x0a0bu);
  EXPECT_EQ(decoded.gc, Example());
  for (const std::string& wrong :
       {std::string(), std::string("\x16") + bytes.substr(1),
        bytes.substr(0, 8), bytes.substr(0, 20)}) {
    EXPECT_FALSE(DecodeAnnouncement(wrong, &decoded));
  }
}

}  // namespace
}  // namespace rocksync
