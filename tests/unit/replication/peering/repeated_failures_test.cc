#include "replication/peering/repeated_failures.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace rocksync {
namespace {

using std::chrono::seconds;

class RepeatedFailuresTest : public testing::Test {
 protected:
  bool Note(uint64_t replica_id, const std::string& why) {
    return failures_.Note(replica_id, why, now_, &unlogged_);
  }

  RepeatedFailures failures_;
  RepeatedFailures::Clock::time_point now_{std::chrono::hours(1)};
  uint64_t unlogged_ = 0;
};

TEST_F(RepeatedFailuresTest, TheSameOneIsLoggedOnceAMinute) {
  EXPECT_TRUE(Note(1, "5 pairs too far in the future"));
  EXPECT_EQ(unlogged_, 0u);
  for (int i = 1; i < 60; ++i) {
    now_ += seconds(1);
    EXPECT_FALSE(Note(1, "7 pairs too far in the future")) << i;
  }
  now_ += seconds(1);
  EXPECT_TRUE(Note(1, "9 pairs too far in the future"));
  EXPECT_EQ(unlogged_, 59u);
  EXPECT_FALSE(Note(1, "9 pairs too far in the future"));
}

TEST_F(RepeatedFailuresTest, AnotherFailureIsLoggedAtOnce) {
  EXPECT_TRUE(Note(1, "held back"));
  EXPECT_FALSE(Note(1, "held back"));
  EXPECT_TRUE(Note(1, "broken"));
  EXPECT_EQ(unlogged_, 0u) << "of this one there were none before";
  EXPECT_TRUE(Note(1, "held back"));
}

TEST_F(RepeatedFailuresTest, AfterSuccessItIsLoggedAtOnce) {
  EXPECT_TRUE(Note(1, "held back"));
  failures_.NoteSuccess(1);
  EXPECT_TRUE(Note(1, "held back"));
  failures_.NoteSuccess(2);  // of whom nothing is known
}

TEST_F(RepeatedFailuresTest, EachPeerHasItsOwn) {
  EXPECT_TRUE(Note(1, "held back"));
  EXPECT_TRUE(Note(2, "held back"));
  EXPECT_FALSE(Note(1, "held back"));
  EXPECT_FALSE(Note(2, "held back"));
}

TEST_F(RepeatedFailuresTest, WhatItRemembersIsBounded) {
  for (uint64_t id = 1; id <= RepeatedFailures::kMaxPeers; ++id) {
    EXPECT_TRUE(Note(id, "held back"));
    now_ += std::chrono::milliseconds(1);
  }
  EXPECT_FALSE(Note(1, "held back"));
  EXPECT_TRUE(Note(RepeatedFailures::kMaxPeers + 1, "held back"));
  EXPECT_TRUE(Note(1, "held back")) << "it was logged the longest ago";
  EXPECT_FALSE(Note(RepeatedFailures::kMaxPeers, "held back"));
}

}  // namespace
}  // namespace rocksync
