#include "replication/protocol/forgetting.h"

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

Forgetting Of(const MemberList& list) {
  Forgetting knows;
  Found(list, &knows);
  return knows;
}

// It has this horizon, and knows of no other.
void Reach(const Horizon& horizon, Forgetting* knows) {
  knows->horizon = knows->purged = horizon.time;
  knows->horizon_epoch = horizon.epoch;
  knows->reached = horizon;
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

void ExpectVerdicts(const Forgetting& a, uint64_t a_id, Meeting of_a,
                    const Forgetting& b, uint64_t b_id, Meeting of_b,
                    const std::string& why = "") {
  const MeetingVerdict mine = Judge(a, a_id, b, b_id);
  const MeetingVerdict other = Judge(b, b_id, a, a_id);
  EXPECT_EQ(mine.meeting, of_a) << mine.why;
  EXPECT_EQ(other.meeting, of_b) << other.why;
  EXPECT_THAT(mine.why, HasSubstr(why));
  EXPECT_THAT(other.why, HasSubstr(why));
}

TEST(MeetingTest, OneList) {
  const Forgetting both = Of(List(1, {1, 2}));
  ExpectVerdicts(both, 1, Meeting::kAlike, both, 2, Meeting::kAlike);
  ExpectVerdicts(both, 1, Meeting::kNotMember, both, 3, Meeting::kNotMember,
                 "replica 3 is not in the member list of epoch 1");
  ExpectVerdicts({}, 1, Meeting::kAlike, {}, 2, Meeting::kAlike);
}

TEST(MeetingTest, TheNewerListIsLearned) {
  const MemberList first = List(1, {1, 2, 3});
  const Forgetting newer = Of(List(2, {1, 2}, first));
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
  const Forgetting third = Of(List(3, {1, 2, 3}, second));
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

TEST(MeetingTest, OldDataAreOutOfReachOnceOthersHaveForgotten) {
  Forgetting newcomer;
  Forgetting member = Of(List(1, {1, 2}));
  EXPECT_EQ(Join(member, 2, true, &newcomer).meeting, Meeting::kAlike);
  EXPECT_TRUE(newcomer.unproven);
  ExpectVerdicts(member, 1, Meeting::kAlike, newcomer, 2, Meeting::kAlike);
  Reach({5, 0}, &member);
  ExpectVerdicts(member, 1, Meeting::kOutOfReach, newcomer, 2,
                 Meeting::kOutOfReach, "replica 2 joined with data");
  // Also if what they compare by fell back: what is purged is not there again.
  member.horizon = 0;
  ExpectVerdicts(member, 1, Meeting::kOutOfReach, newcomer, 2,
                 Meeting::kOutOfReach, "replica 2 joined with data");
  newcomer.purged = 5;
  ExpectVerdicts(member, 1, Meeting::kAlike, newcomer, 2, Meeting::kAlike);
  // Proven equal to a member, it is like any other.
  newcomer.purged = 0;
  Forgetting filling = member;
  filling.filling = true;
  Proved(2, 0, 1, 1, filling, &newcomer);
  EXPECT_TRUE(newcomer.unproven) << "that member may lack tombstones itself";
  Proved(2, 1, 1, 1, member, &newcomer);
  EXPECT_FALSE(newcomer.unproven);
  ExpectVerdicts(member, 1, Meeting::kAlike, newcomer, 2, Meeting::kAlike);
}

// The one that had no data, on which the first list was set, has gone.
TEST(MeetingTest, ThoseWhoAllCameWithDataAreInReachOfEachOther) {
  const MemberList first = List(1, {1, 2, 3});
  Forgetting two = Of(List(2, {2, 3}, first));
  Forgetting three = two;
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
  Forgetting of_three = Of(List(3, {2, 3, 4}, two.list));
  of_three.unproven = true;
  Proved(2, 10, 3, 20, of_three, &of_three);
  EXPECT_TRUE(of_three.unproven);
}

// A copy of a member is opened as a new replica and joins again; by it a
// newcomer still knows that an older state of another member's disk is one.
TEST(MeetingTest, ACopyRemembersInWhichEpochItForgot) {
  const MemberList first = List(1, {1, 2});
  const MemberList second = List(2, {1, 2}, first);
  Forgetting copied = Of(second);
  copied.unproven = true;
  Reach({5, 2}, &copied);
  Forgetting copy = AsNewReplica(copied);
  EXPECT_FALSE(copy.unproven);
  EXPECT_EQ(copy.list.epoch, 0u);
  std::string bytes;
  EncodeForgetting(copy, &bytes);
  Forgetting reopened;
  ASSERT_TRUE(DecodeForgetting(bytes, &reopened));
  EXPECT_EQ(reopened, copy);
  Forgetting member = Of(List(3, {1, 2, 3, 4}, second));
  member.promised = 5;
  ASSERT_EQ(Join(member, 3, true, &copy).meeting, Meeting::kAlike);
  EXPECT_EQ(HorizonOf(copy), (Horizon{5, 2}));
  ExpectVerdicts(copy, 3, Meeting::kRolledBack, Of(first), 2,
                 Meeting::kRolledBack, "has promised more");
  // In another cluster, say, with younger lists: not in this epoch.
  Forgetting elsewhere;
  Reach({5, 9}, &elsewhere);
  Found(List(2, {7}), &elsewhere);
  EXPECT_EQ(HorizonOf(elsewhere), (Horizon{5, 1}));
  EXPECT_EQ(elsewhere.reached, Horizon());
  EXPECT_EQ(elsewhere.purged, 5u);
}

TEST(MeetingTest, WhoPromisedMoreThanItKnowsWasRolledBack) {
  Forgetting kept = Of(List(1, {1, 2}));
  Forgetting back = kept;
  kept.vouched = back.vouched = {3, 8};
  kept.promised = 3;
  back.promised = 8;
  ExpectVerdicts(kept, 1, Meeting::kAlike, back, 2, Meeting::kAlike);
  back.vouched = {3, 7};
  back.promised = 7;
  ExpectVerdicts(kept, 1, Meeting::kRolledBack, back, 2, Meeting::kRolledBack,
                 "replica 2 has promised more");
  // To have heard less of others is no fault.
  back.vouched = {2, 9};
  back.promised = 9;
  ExpectVerdicts(kept, 1, Meeting::kAlike, back, 2, Meeting::kAlike);
}

// An operator sets the next list on an older state of a member's disk: what it
// promised in the list before is not known to it, but to the others.
TEST(MeetingTest, ANewerListDoesNotHideThatItsMemberWasRolledBack) {
  const MemberList first = List(1, {1, 2});
  Forgetting kept = Of(first);
  kept.vouched = {8, 8};
  kept.promised = 8;
  Forgetting back = Of(List(2, {1, 2}, first));
  back.promised = 7;
  ExpectVerdicts(kept, 1, Meeting::kRolledBack, back, 2, Meeting::kRolledBack,
                 "replica 2 has promised more");
  back.promised = 8;
  ExpectVerdicts(kept, 1, Meeting::kLearn, back, 2, Meeting::kTeach);
  // Nor is it hidden from one that has the newer list by another way, as soon
  // as it knows of a horizon that took as much.
  ASSERT_EQ(Join(back, 1, true, &kept).meeting, Meeting::kAlike);
  back.promised = 7;
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
  const Forgetting kept = Of(List(2, {1, 2}, first));
  for (const uint64_t epoch : {3, 7}) {
    const Forgetting removed = Of(List(epoch, {1, 2, 3}, first));
    ExpectVerdicts(kept, 1, Meeting::kConflict, removed, 3, Meeting::kConflict,
                   "it has replica 3 for a member since epoch 1");
    // Nor by way of a member that had not heard of the second list either.
    ExpectVerdicts(kept, 1, Meeting::kConflict, removed, 2, Meeting::kConflict);
  }
  // Its way back.
  const Forgetting back = Of(List(3, {1, 2, 3}, kept.list));
  ExpectVerdicts(back, 1, Meeting::kTeach, kept, 2, Meeting::kLearn);
  ExpectVerdicts(back, 1, Meeting::kConflict, Of(first), 3, Meeting::kConflict,
                 "was removed in between");
}

// Not that it says it: a copy from another cluster.
TEST(MeetingTest, MarksOfAnotherClusterAreDroppedAtTheDoor) {
  Forgetting member = Of(List(10, {1, 2, 3}, List(1, {1, 2})));
  member.promised = 4;
  Forgetting copy;
  Reach({5, 3}, &copy);
  ASSERT_EQ(Join(member, 3, true, &copy).meeting, Meeting::kAlike);
  EXPECT_EQ(copy.reached, Horizon());
  EXPECT_EQ(copy.purged, 5u);
  ExpectVerdicts(copy, 3, Meeting::kAlike, member, 1, Meeting::kAlike);
}

// Two set-ups of one life cross on two connections.
TEST(MeetingTest, WhatWasOvertakenIsNotHeldAgainstAnybody) {
  Forgetting ahead = Of(List(1, {1, 2}));
  Forgetting old = ahead;
  ahead.vouched = {3, 8};
  ahead.promised = 3;
  old.vouched = {3, 7};
  old.promised = 7;
  const auto verdict = [&](const Said& mine, const Said& theirs) {
    return Judge(ahead, 1, old, 2, {mine, theirs}).meeting;
  };
  EXPECT_EQ(verdict({}, {.promised = 8}), Meeting::kAlike);
  EXPECT_EQ(verdict({}, {.promised = 7}), Meeting::kRolledBack);
  EXPECT_EQ(verdict({.promised = 8}, {}), Meeting::kRolledBack);
  EXPECT_EQ(Judge(old, 2, ahead, 1, {{.promised = 8}, {}}).meeting,
            Meeting::kAlike);
}

TEST(MeetingTest, WhoMissesItsPartInAHorizonWasRolledBack) {
  const MemberList first = List(1, {1, 2});
  Forgetting newer = Of(List(3, {1, 2}, first));
  newer.reached = {8, 1};
  newer.promised = 8;
  Forgetting older = Of(first);
  older.promised = 8;
  ExpectVerdicts(newer, 1, Meeting::kTeach, older, 2, Meeting::kLearn);
  older.vouched = {8, 7};
  older.promised = 7;
  ExpectVerdicts(newer, 1, Meeting::kRolledBack, older, 2, Meeting::kRolledBack,
                 "replica 2 has promised more");
  EXPECT_EQ(Judge(newer, 1, older, 2, {{}, {.promised = 8}}).meeting,
            Meeting::kTeach);
  // It was in epoch 2 too, if that forgot something.
  newer.reached.epoch = 2;
  older.promised = 9;
  ExpectVerdicts(newer, 1, Meeting::kRolledBack, older, 2,
                 Meeting::kRolledBack);
  // Nothing is expected of a replica that was in no list.
  ExpectVerdicts(newer, 1, Meeting::kTeach, {}, 2, Meeting::kLearn);
}

TEST(SayingsTest, CountInOneLife) {
  const Incarnation life = {4, 77};
  Forgetting knows = Of(List(1, {1, 2}));
  knows.promised = 5;
  Sayings sayings;
  sayings.Note(2, life, {9, knows});
  EXPECT_EQ(sayings.Of(2, life).reading, 9u);
  EXPECT_EQ(sayings.Of(2, life).promised, 5u);
  EXPECT_EQ(sayings.Of(2, {4, 78}).promised, 0u);
  EXPECT_EQ(sayings.Of(1, life).promised, 0u);
  // What is said later but was sent before takes nothing back.
  knows.promised = 4;
  sayings.Note(2, life, {8, knows});
  EXPECT_EQ(sayings.Of(2, life).reading, 9u);
  EXPECT_EQ(sayings.Of(2, life).promised, 5u);
  sayings.Note(2, {5, 78}, {7, knows});
  EXPECT_EQ(sayings.Of(2, {5, 78}).reading, 7u);
  EXPECT_EQ(sayings.Of(2, life).reading, 0u);
  // Whoever is in no list vouches for nothing.
  sayings.Note(3, life, {8, knows});
  EXPECT_EQ(sayings.Of(3, life).reading, 0u);
}

TEST(MeetingTest, ANewcomerWithOldDataDoesNotJoin) {
  Forgetting member = Of(List(1, {1, 2}));
  Reach({5, 1}, &member);
  Forgetting newcomer;
  const MeetingVerdict verdict = Join(member, 2, true, &newcomer);
  EXPECT_EQ(verdict.meeting, Meeting::kOutOfReach);
  EXPECT_THAT(verdict.why, HasSubstr("replica 2 joined with data"));
  EXPECT_EQ(newcomer, Forgetting{});
  member.horizon = 0;  // back again
  EXPECT_EQ(Join(member, 2, true, &newcomer).meeting, Meeting::kOutOfReach);
  member.horizon = 5;
  // Empty, it does; and a copy that has forgotten as much.
  EXPECT_EQ(Join(member, 2, false, &newcomer).meeting, Meeting::kAlike);
  EXPECT_EQ(newcomer.horizon, 5u);
  EXPECT_EQ(newcomer.purged, 5u);
  EXPECT_EQ(newcomer.reached, (Horizon{5, 1}));
  EXPECT_FALSE(newcomer.unproven);
  EXPECT_TRUE(newcomer.filling);
  Proved(2, 1, 1, 1, member, &newcomer);
  EXPECT_FALSE(newcomer.filling);
  Forgetting copy;
  Reach({6, 0}, &copy);
  EXPECT_EQ(Join(member, 2, true, &copy).meeting, Meeting::kAlike);
  EXPECT_EQ(copy.horizon, 6u);
  EXPECT_TRUE(copy.unproven);
  EXPECT_FALSE(copy.filling);
}

TEST(MeetingTest, AMemberTakesAlongWhatItsEpochHasReached) {
  Forgetting first = Of(List(1, {1, 2}));
  Forgetting second = Of(List(2, {1, 2}, first.list));
  Reach({5, 1}, &second);
  EXPECT_EQ(Join(second, 2, true, &first).meeting, Meeting::kAlike);
  EXPECT_EQ(HorizonOf(first), (Horizon{5, 1}));
  EXPECT_EQ(first.purged, 5u);
  EXPECT_EQ(first.reached, (Horizon{5, 1}));
  EXPECT_EQ(first.list, second.list);
  EXPECT_FALSE(first.unproven);
}

TEST(MeetingTest, WithoutListsAForgottenPastMustBeTheSame) {
  Forgetting copy;
  copy.horizon = 5;
  ExpectVerdicts(copy, 1, Meeting::kOutOfReach, {}, 2, Meeting::kOutOfReach,
                 "have no member list");
  ExpectVerdicts(copy, 1, Meeting::kAlike, copy, 2, Meeting::kAlike);
  copy.purged = 5;
  Forgetting fell_back = copy;
  fell_back.purged = 6;
  ExpectVerdicts(copy, 1, Meeting::kOutOfReach, fell_back, 2,
                 Meeting::kOutOfReach, "have no member list");
}

// What the three numbers do in a newer list, set on one that had vouched and
// had not heard.
TEST(MeetingTest, WhatIsPurgedIsKnownWhateverTheHorizonDoes) {
  const MemberList first = List(1, {1, 2, 3});
  Forgetting knows = Of(first);
  Reach({5, 1}, &knows);
  knows.vouched = {5, 5, 5};
  Forgetting vouched = Of(first);
  vouched.vouched = {5, 0, 5};
  knows.promised = vouched.promised = 5;
  Found(List(2, {1, 2, 3, 4}, first), &vouched);
  ASSERT_EQ(Join(vouched, 1, true, &knows).meeting, Meeting::kAlike);
  EXPECT_EQ(HorizonOf(knows), (Horizon{5, 1}));
  const Forgetting said = knows;
  uint64_t two_lives = 0;
  const Terms of_one = AgreeUpon(said, vouched, 1, &knows, &two_lives);
  const Terms of_three = AgreeUpon(vouched, said, 3, &vouched, &two_lives);
  EXPECT_EQ(of_one, (Terms{2, 0, 5, false}));
  EXPECT_EQ(of_three, of_one);
  for (const Forgetting& one : {knows, vouched}) {
    EXPECT_EQ(TermsOf(one), of_one);
    EXPECT_EQ(one.reached, (Horizon{5, 1}));
  }
  // A member of the first list that has not heard of it, and missed nothing.
  Forgetting older = Of(first);
  ExpectVerdicts(vouched, 3, Meeting::kRolledBack, older, 2,
                 Meeting::kRolledBack);
  older.vouched = {0, 5, 0};
  older.promised = 5;
  ExpectVerdicts(vouched, 3, Meeting::kTeach, older, 2, Meeting::kLearn);
  // A copy from before, and one from after.
  Forgetting copy;
  EXPECT_EQ(Join(vouched, 4, true, &copy).meeting, Meeting::kOutOfReach);
  Forgetting late = AsNewReplica(vouched);
  EXPECT_EQ(Join(vouched, 4, true, &late).meeting, Meeting::kAlike);
  EXPECT_EQ(TermsOf(late), (Terms{2, 0, 5, true}));
}

// It came empty, so nobody holds old data against it; it took those of another.
TEST(MeetingTest, WhoTakesOldPairsWhileItIsFilledIsAsTheyAre) {
  const MemberList list = List(2, {1, 2, 3});
  Forgetting filling = Of(list);
  filling.filling = true;
  Forgetting old = Of(list);
  old.unproven = true;
  Forgetting now = filling;
  uint64_t two_lives = 0;
  EXPECT_EQ(AgreeUpon(filling, old, 2, &now, &two_lives),
            (Terms{2, 0, 0, true}));
  EXPECT_TRUE(now.unproven);
  EXPECT_FALSE(now.filling);
  // To others it has said otherwise before.
  Forgetting member = Of(list);
  EXPECT_EQ(AgreeUpon(filling, member, 2, &now, &two_lives),
            (Terms{2, 0, 0, false}));
  EXPECT_FALSE(StillHold({2, 0, 0, false}, TermsOf(now)));
  EXPECT_TRUE(StillHold({2, 0, 0, true}, TermsOf(filling)));
  for (const Terms& other :
       {Terms{3, 0, 0, true}, {2, 1, 0, true}, {2, 0, 1, true}}) {
    EXPECT_FALSE(StillHold(other, TermsOf(now)));
  }
  // It hears of what was purged, and its data are no younger by that.
  member.purged = 5;
  EXPECT_EQ(AgreeUpon(filling, member, 2, &now, &two_lives),
            (Terms{2, 0, 5, false}));
  EXPECT_EQ(now.purged, 0u);
  ExpectVerdicts(now, 2, Meeting::kOutOfReach, member, 1, Meeting::kOutOfReach,
                 "replica 2 joined with data");
  // A member that was there all along takes no harm.
  Forgetting sound = Of(list);
  EXPECT_EQ(AgreeUpon(Of(list), old, 1, &sound, &two_lives),
            (Terms{2, 0, 0, false}));
  EXPECT_FALSE(sound.unproven);
}

// --- Knowledge --------------------------------------------------------------

TEST(KnowledgeTest, IsHandedOn) {
  Forgetting a = Of(List(1, {1, 2, 3}));
  Forgetting b = a;
  b.holds = {0, 7, 9};
  Proved(1, 4, 2, 6, b, &a);
  EXPECT_EQ(a.holds, (std::vector<uint64_t>{4, 7, 9}));
  EXPECT_EQ(a.vouched, (std::vector<uint64_t>{4, 0, 0}));
  Forgetting c = Of(List(1, {1, 2, 3}));
  c.vouched = {99, 5, 8};
  EXPECT_EQ(Hear(c, 1, &a), 0u);
  EXPECT_EQ(a.vouched, (std::vector<uint64_t>{4, 5, 8}));  // 1 speaks for 1
  EXPECT_EQ(Attainable(a), 4u);
  EXPECT_TRUE(Advance(&a));
  EXPECT_EQ(HorizonOf(a), (Horizon{4, 1}));
  EXPECT_FALSE(Advance(&a));
}

TEST(KnowledgeTest, WhoWentBackIsNoticed) {
  Forgetting a = Of(List(1, {1, 2}));
  a.holds = {0, 7};
  EXPECT_TRUE(WentBack(a, 2, 6, {}));
  EXPECT_FALSE(WentBack(a, 2, 7, {}));
  EXPECT_FALSE(WentBack(a, 3, 6, {}));
  // It has said 7 itself, in this life: the reading was overtaken.
  EXPECT_FALSE(WentBack(a, 2, 6, {.reading = 7}));
  EXPECT_TRUE(WentBack(a, 2, 5, {.reading = 6}));
}

Life InLife(uint64_t counter, uint64_t random, uint64_t clock) {
  return {.incarnation = {counter, random},
          .first_clock = clock,
          .clock = clock,
          .past = {.since = counter - 1, .lives = {}}};
}

// 1 met replica 3, 2 met a copy of it: neither knows of the other.
TEST(KnowledgeTest, OfTwoLivesIsNotPutTogether) {
  Forgetting a = Of(List(1, {1, 2, 3}));
  a.lives[2] = InLife(4, 7, 50);
  Forgetting b = Of(a.list);
  b.holds = {10, 11, 12};
  b.vouched = {0, 10, 10};
  b.lives[2] = InLife(4, 8, 50);
  Forgetting now = a;
  EXPECT_EQ(Hear(b, 1, &now), 3u);
  EXPECT_EQ(now, a);
  // What 2 holds of all others is as good as before.
  Proved(1, 20, 2, 21, b, &now);
  EXPECT_EQ(now.holds, (std::vector<uint64_t>{20, 21, 0}));
  EXPECT_EQ(now.vouched, (std::vector<uint64_t>{0, 0, 0}));
  EXPECT_EQ(now.lives[2], a.lives[2]);
  // One life, or one that follows.
  for (const Life& life : {InLife(4, 7, 40), InLife(5, 9, 50)}) {
    b.lives[2] = life;
    now = a;
    EXPECT_EQ(Hear(b, 1, &now), 0u);
    EXPECT_EQ(now.vouched, (std::vector<uint64_t>{0, 10, 10}));
    EXPECT_EQ(now.lives[2].incarnation, life.incarnation);
    EXPECT_EQ(now.lives[2].clock, 50u);
    Proved(1, 20, 2, 21, b, &now);
    EXPECT_EQ(now.holds, (std::vector<uint64_t>{20, 21, 12}));
  }
}

TEST(KnowledgeTest, WhoHearsOfALaterLifeOfItsOwnBelievesItself) {
  Forgetting a = Of(List(1, {1, 2}));
  SetOwnLife(1, InLife(4, 7, 50), &a);
  Forgetting b = Of(a.list);
  b.vouched = {0, 10};
  b.lives[0] = InLife(5, 8, 60);
  Forgetting now = a;
  EXPECT_EQ(Hear(b, 1, &now), 1u);
  EXPECT_EQ(now, a);
  b.lives[0] = InLife(4, 7, 70);
  EXPECT_EQ(Hear(b, 1, &now), 0u);
  EXPECT_EQ(now.vouched, b.vouched);
  EXPECT_EQ(now.lives, a.lives);
}

// 2 says that it lives the life in which it is met.
bool TwoGoesOn(const Forgetting& mine, const Life& life) {
  Forgetting two = Of(List(1, {1, 2}));
  two.lives[1] = life;
  return GoesOn(mine, 2, life.incarnation, two);
}

// 2 is met in a life; others have spoken of another.
TEST(KnowledgeTest, APeerGoesOnInItsLine) {
  Forgetting a = Of(List(1, {1, 2}));
  a.lives[1] = InLife(4, 7, 50);
  EXPECT_TRUE(TwoGoesOn(a, InLife(4, 7, 40)));
  EXPECT_TRUE(TwoGoesOn(a, InLife(5, 7, 50)));
  EXPECT_FALSE(TwoGoesOn(a, InLife(5, 7, 49)));
  EXPECT_FALSE(TwoGoesOn(a, InLife(4, 8, 50)));
  EXPECT_FALSE(TwoGoesOn(a, InLife(3, 7, 50)));
  EXPECT_TRUE(TwoGoesOn({}, InLife(3, 7, 50)));
  Forgetting b = Of(a.list);
  EXPECT_TRUE(GoesOn(a, 3, {3, 7}, b));
  EXPECT_FALSE(GoesOn(a, 2, {4, 7}, b));  // it says something else
  // A session in a life that is over proves nothing.
  b.lives[1] = InLife(3, 7, 50);
  const Forgetting before = a;
  Proved(1, 20, 2, 21, b, &a);
  EXPECT_EQ(a, before);
}

TEST(KnowledgeTest, WhatIsTakenMayBeLaterThanTheReading) {
  Forgetting a = Of(List(1, {1, 2}));
  a.lives[1] = InLife(4, 7, 50);
  EXPECT_TRUE(TakesFrom(2, {4, 7}, 60, &a));
  EXPECT_EQ(a.lives[1].clock, 60u);
  EXPECT_TRUE(TakesFrom(2, {4, 7}, 0, &a));
  EXPECT_EQ(a.lives[1].clock, 60u);
  // A copy that parted at 55 is another one.
  EXPECT_FALSE(TwoGoesOn(a, InLife(5, 7, 55)));
  EXPECT_FALSE(TakesFrom(2, {4, 8}, 60, &a));
  Forgetting nobody;
  EXPECT_TRUE(TakesFrom(2, {4, 8}, 60, &nobody));
}

TEST(KnowledgeTest, ReadingsAreTakenAsFarAsTheyAreTrusted) {
  Announcement said = {90, Of(List(1, {1, 2}))};
  said.forgetting.holds = {40, 60};
  said.forgetting.lives = {InLife(1, 7, 70), InLife(1, 8, 30)};
  const Forgetting heard =
      Heard(said, 2, [](uint64_t reading) { return std::min(reading, 50ul); });
  EXPECT_EQ(heard.holds, (std::vector<uint64_t>{40, 50}));
  EXPECT_EQ(heard.lives[0].clock, 50u);
  EXPECT_EQ(heard.lives[1].clock, 50u);  // its reading
  EXPECT_EQ(heard.lives[0].first_clock, 70u);
}

TEST(KnowledgeTest, OfLivesNoMoreThanIsNeeded) {
  Forgetting a = Of(List(1, {1, 2}));
  Life own = InLife(20, 7, 300);
  own.past = {.since = 0};
  for (uint64_t counter = 1; counter < 20; ++counter) {
    Append({counter, 7}, 10 * counter, &own.past);
  }
  SetOwnLife(1, own, &a);
  EXPECT_EQ(a.lives[0].past, own.past);
  a.vouched = {180, 190};  // nobody goes by what ended before
  EXPECT_EQ(Hear(Of(a.list), 1, &a), 0u);
  EXPECT_EQ(a.lives[0].past, (PastLives{18, {{{19, 7}, 190}}}));
}

TEST(KnowledgeTest, NothingWithoutAList) {
  Forgetting a;
  Proved(1, 4, 2, 6, {}, &a);
  EXPECT_EQ(a, Forgetting{});
  EXPECT_FALSE(Advance(&a));
  EXPECT_EQ(HeldUpBy(a, 1), 0u);
}

TEST(KnowledgeTest, ANewListStartsAnew) {
  Forgetting a = Of(List(1, {1, 2, 3}));
  a.holds = a.vouched = {4, 4, 4};
  EXPECT_TRUE(Advance(&a));
  Found(List(2, {1, 2}, a.list), &a);
  EXPECT_EQ(a.holds, (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(a.vouched, (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(HorizonOf(a), (Horizon{4, 1}));
  EXPECT_FALSE(a.unproven);  // it was a member before
}

TEST(KnowledgeTest, HorizonsAreAgreedUpon) {
  EXPECT_EQ(Agree({5, 2}, {9, 2}, 2), (Horizon{9, 2}));
  EXPECT_EQ(Agree({5, 2}, {9, 1}, 2), (Horizon{5, 2}));
  EXPECT_EQ(Agree({9, 1}, {5, 2}, 2), (Horizon{5, 2}));
  EXPECT_EQ(Agree({9, 1}, {5, 0}, 2), (Horizon{5, 0}));
}

TEST(KnowledgeTest, AHorizonThatOthersMovedMeanwhileStays) {
  const Forgetting said = Of(List(1, {1, 2}));
  Forgetting peer = said;
  Reach({5, 1}, &peer);
  peer.vouched = {9, 6};
  Forgetting now = said;
  uint64_t two_lives = 9;
  EXPECT_EQ(AgreeUpon(said, peer, 1, &now, &two_lives), (Terms{1, 5, 5}));
  EXPECT_EQ(HorizonOf(now), (Horizon{5, 1}));
  EXPECT_EQ(now.vouched, (std::vector<uint64_t>{0, 6}));
  Reach({7, 1}, &now);
  EXPECT_EQ(AgreeUpon(said, peer, 1, &now, &two_lives), (Terms{1, 5, 5}));
  EXPECT_EQ(HorizonOf(now), (Horizon{7, 1}));
  // Another list by now: what was agreed upon concerns it no more.
  Found(List(2, {1, 2}, now.list), &now);
  const Forgetting before = now;
  EXPECT_EQ(AgreeUpon(said, peer, 1, &now, &two_lives), (Terms{1, 5, 5}));
  EXPECT_EQ(now, before);
}

TEST(KnowledgeTest, WhatIsWorthForgetting) {
  EXPECT_FALSE(WorthForgetting(0, 0));
  EXPECT_TRUE(WorthForgetting(1, 1));
  EXPECT_TRUE(WorthForgetting(20, 1000));
  EXPECT_FALSE(WorthForgetting(19, 1000));
}

TEST(KnowledgeTest, WhoHoldsItUp) {
  Forgetting a = Of(List(1, {1, 2, 3}));
  a.holds = {9, 9, 4};
  EXPECT_EQ(HeldUpBy(a, 1), 3u);
  a.holds = {9, 3, 4};
  EXPECT_EQ(HeldUpBy(a, 1), 2u);
  a.holds = {9, 9, 9};
  EXPECT_EQ(HeldUpBy(a, 1), 0u);
  a.vouched = {9, 8, 7};
  EXPECT_EQ(HeldUpBy(a, 1), 3u);
  EXPECT_EQ(HeldUpBy(a, 4), 0u);
  EXPECT_EQ(HeldUpBy(Of(List(1, {1})), 1), 0u);
}

// --- Bytes ------------------------------------------------------------------

Forgetting Example() {
  Forgetting example = Of(List(300, {0x11, 0x22}));
  example.unproven = true;
  example.horizon = 0x0102;
  example.horizon_epoch = 2;
  example.purged = 0x0405;
  example.reached = {0x0203, 3};
  example.holds = {0x0304, 5};
  example.vouched = {6, 0x0708};
  example.promised = 0x0709;
  return example;
}

// No beginning of them decodes, nor anything behind them.
void ExpectNothingLessOrMore(const std::string& bytes) {
  Forgetting decoded;
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(
        DecodeForgetting(std::string_view(bytes).substr(0, size), &decoded));
  }
  EXPECT_FALSE(DecodeForgetting(bytes + '\0', &decoded));
}

TEST(ForgettingBytesTest, Literal) {
  std::string bytes;
  EncodeForgetting(Example(), &bytes);
  EXPECT_EQ(absl::BytesToHexString(bytes),
            "01"                // unproven
            "ac02"              // epoch 300
            "0000000000000102"  // horizon
            "02"                // reached in epoch 2
            "0000000000000405"  // purged
            "0000000000000203"  // the latest horizon that was reached
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
  Forgetting decoded;
  ASSERT_TRUE(DecodeForgetting(bytes, &decoded));
  EXPECT_EQ(decoded, Example());
}

Forgetting ExampleWithLives() {
  Forgetting example = Example();
  example.lives[1] = {.incarnation = {300, 0x33},
                      .first_clock = 0x44,
                      .clock = 0x55,
                      .past = {.since = 298, .lives = {{{299, 0x66}, 0x44}}}};
  return example;
}

TEST(ForgettingBytesTest, LiteralWithLives) {
  std::string without;
  EncodeForgetting(Example(), &without);
  std::string bytes;
  EncodeForgetting(ExampleWithLives(), &bytes);
  EXPECT_EQ(bytes[0], 3);
  EXPECT_EQ(bytes.substr(1, without.size() - 1), without.substr(1));
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(without.size())),
            "00"    // of the first nothing is known
            "ac02"  // life 300
            "0000000000000033"
            "0000000000000044"
            "0000000000000055"
            "aa02"  // all lives after 298:
            "01"
            "ab02"
            "0000000000000066"
            "0000000000000044");
  Forgetting decoded;
  ASSERT_TRUE(DecodeForgetting(bytes, &decoded));
  EXPECT_EQ(decoded, ExampleWithLives());
  ExpectNothingLessOrMore(bytes);
  // With lives, but none is known.
  without[0] = 3;
  EXPECT_FALSE(DecodeForgetting(without + std::string(2, '\0'), &decoded));
  // More than anybody hands on.
  Forgetting long_past = ExampleWithLives();
  long_past.lives[1].past.lives.resize(kMaxPastLives + 1);
  bytes.clear();
  EncodeForgetting(long_past, &bytes);
  EXPECT_FALSE(DecodeForgetting(bytes, &decoded));
}

TEST(ForgettingBytesTest, TheLargestIsWithinItsBound) {
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < kMaxMembers; ++i) ids.push_back(UINT64_MAX - i);
  Forgetting largest;
  const MemberList before{.epoch = UINT64_MAX - 1, .members = {}};
  Found(*SucceedingList(before, UINT64_MAX, ids, UINT64_MAX), &largest);
  largest.horizon_epoch = largest.reached.epoch = UINT64_MAX;
  Life life = InLife(UINT64_MAX, 1, 1);
  life.past.lives.resize(kMaxPastLives, {{UINT64_MAX, 1}, 1});
  largest.lives.assign(kMaxMembers, life);
  std::string bytes;
  EncodeForgetting(largest, &bytes);
  EXPECT_LE(bytes.size(), kMaxForgettingBytes);
  Forgetting decoded;
  EXPECT_TRUE(DecodeForgetting(bytes, &decoded));
}

TEST(ForgettingBytesTest, WhatNoEncoderMakesIsRefused) {
  std::string bytes;
  EncodeForgetting(Example(), &bytes);
  Forgetting decoded;
  ExpectNothingLessOrMore(bytes);
  const auto refused = [](const auto& change) {
    Forgetting wrong = Example();
    change(&wrong);
    std::string encoded;
    EncodeForgetting(wrong, &encoded);
    Forgetting out;
    return !DecodeForgetting(encoded, &out);
  };
  EXPECT_TRUE(refused([](Forgetting* f) { f->horizon_epoch = 301; }));
  EXPECT_TRUE(refused([](Forgetting* f) { f->reached.epoch = 301; }));
  EXPECT_TRUE(refused([](Forgetting* f) { f->purged = 0x0101; }));
  EXPECT_TRUE(refused([](Forgetting* f) { f->filling = true; }));
  EXPECT_TRUE(refused([](Forgetting* f) { f->list.epoch = 0; }));
  EXPECT_TRUE(refused([](Forgetting* f) { f->list.members.clear(); }));
  EXPECT_TRUE(refused([](Forgetting* f) { f->list.members[0].since = 301; }));
  EXPECT_TRUE(
      refused([](Forgetting* f) { f->list.members[0].replica_id = 0x22; }));
  bytes[0] = 8;
  EXPECT_FALSE(DecodeForgetting(bytes, &decoded));
}

TEST(ForgettingBytesTest, TheCountIsBoundedBeforeAnythingIsMade) {
  std::string bytes("\0\1", 2);
  bytes += std::string(8 + 1 + 8 + 8 + 1, '\0');
  bytes += "\xff\xff\x7f";
  Forgetting decoded;
  EXPECT_FALSE(DecodeForgetting(bytes, &decoded));
  EXPECT_TRUE(decoded.holds.empty());
}

TEST(ForgettingBytesTest, MoreMembersThanThereMayBeAreRefused) {
  for (const size_t count : {kMaxMembers, kMaxMembers + 1}) {
    Forgetting forgetting;
    forgetting.list.epoch = 1;
    for (uint64_t id = 1; id <= count; ++id) {
      forgetting.list.members.push_back({id, 1});
    }
    forgetting.holds.resize(count);
    forgetting.vouched.resize(count);
    forgetting.lives.resize(count);
    std::string bytes;
    EncodeForgetting(forgetting, &bytes);
    Forgetting decoded;
    EXPECT_EQ(DecodeForgetting(bytes, &decoded), count == kMaxMembers);
  }
}

TEST(ForgettingBytesTest, AnAnnouncement) {
  const std::string bytes = EncodeAnnouncement({0x0a0b, Example()});
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(0, 9)), "150000000000000a0b");
  Announcement decoded;
  ASSERT_TRUE(DecodeAnnouncement(bytes, &decoded));
  EXPECT_EQ(decoded.reading, 0x0a0bu);
  EXPECT_EQ(decoded.forgetting, Example());
  for (const std::string& wrong :
       {std::string(), std::string("\x16") + bytes.substr(1),
        bytes.substr(0, 8), bytes.substr(0, 20)}) {
    EXPECT_FALSE(DecodeAnnouncement(wrong, &decoded));
  }
}

}  // namespace
}  // namespace rocksync
