// What a comparison concludes from its looks, without replicas.

#include "replication/peering/verification.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "replication/session/difference.h"

namespace rocksync {
namespace {

Held Live(uint64_t time) {
  return {.state = Held::State::kLive,
          .version = {.time = time, .replica = 1},
          .hash = {}};
}
Held Tombstone(uint64_t time) {
  return {.state = Held::State::kTombstone,
          .version = {.time = time, .replica = 1},
          .hash = {}};
}

class VerificationTest : public ::testing::Test {
 protected:
  // One look: what it finds of "k", and pairs left out on both sides.
  struct Look {
    std::vector<Difference> found;
    uint64_t left_out = 0;
    uint64_t peer_left_out = 0;
  };

  static Look Found(const Held& mine, const Held& theirs) {
    Look look;
    look.found.push_back({0, "k", mine, theirs});
    return look;
  }
  static Look LeftOut(uint64_t here, uint64_t there) {
    Look look;
    look.left_out = here;
    look.peer_left_out = there;
    return look;
  }

  rocksdb::Status Run(const std::vector<Look>& looks) {
    size_t next = 0;
    VerificationSteps steps;
    steps.families = {"default"};
    steps.sleep = [](std::chrono::milliseconds) { return true; };
    steps.session = [&](const VerifyTask& task, SessionReport* report) {
      const Look& look = looks.at(next++);
      *report = {};
      report->compared = true;
      report->left_out = look.left_out;
      report->peer_left_out = look.peer_left_out;
      for (const Difference& difference : look.found) task.found(difference);
      return rocksdb::Status::OK();
    };
    told_.clear();
    return RunVerification(
        VerifyOptions(), steps,
        [this](const KeyDifference& difference) {
          told_.push_back(difference.key);
        },
        &result_);
  }

  VerifyResult result_;
  std::vector<std::string> told_;
};

TEST_F(VerificationTest, WhatArrivesMeanwhileIsEqual) {
  const rocksdb::Status status =
      Run({Found({}, Live(5)), Found(Live(5), Live(5))});
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(result_.equal);
  EXPECT_EQ(result_.in_flight, 1u);
}

TEST_F(VerificationTest, QuarantinedPairsOfEitherSideAreNotCompared) {
  for (const bool here : {false, true}) {
    const rocksdb::Status status = Run({here ? LeftOut(2, 0) : LeftOut(0, 3)});
    EXPECT_TRUE(status.IsIncomplete()) << status.ToString();
    EXPECT_NE(status.ToString().find(here ? "2 here, 0 at the peer"
                                          : "0 here, 3 at the peer"),
              std::string::npos)
        << status.ToString();
    EXPECT_FALSE(result_.equal);
    EXPECT_FALSE(result_.complete);
    EXPECT_EQ(result_.quarantined_here, here ? 2u : 0u);
    EXPECT_EQ(result_.quarantined_there, here ? 0u : 3u);
  }
}

// What differs is told beside what was not compared.
TEST_F(VerificationTest, DifferencesAreToldBesideQuarantinedPairs) {
  Look look = Found({}, Live(5));
  look.left_out = 1;
  EXPECT_TRUE(Run(std::vector<Look>(10, look)).IsIncomplete());
  EXPECT_EQ(told_, std::vector<std::string>{"k"});
  EXPECT_EQ(result_.differences, 1u);
  EXPECT_FALSE(result_.equal);
}

// Both may quarantined it by now: then nobody can tell whether they are equal.
TEST_F(VerificationTest, APairThatVanishesFromBothSetsHasNotArrived) {
  const rocksdb::Status status = Run({Found({}, Live(5)), Found({}, {})});
  EXPECT_TRUE(status.IsIncomplete()) << status.ToString();
  EXPECT_FALSE(result_.equal);
}

TEST_F(VerificationTest, ATombstoneMayBeCollectedMeanwhile) {
  const rocksdb::Status status = Run({Found({}, Tombstone(6)), Found({}, {})});
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(result_.equal);
}

}  // namespace
}  // namespace rocksync
