// What a comparison concludes from its looks, without replicas.

#include "replication/peering/verification.h"

#include <climits>
#include <cstdint>
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

// By sleeping alone.
void PassTime(std::chrono::milliseconds* now, VerificationSteps* steps) {
  steps->sleep = [now](std::chrono::milliseconds time) {
    *now += time;
    return true;
  };
  steps->now = [now] { return *now; };
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
    std::chrono::milliseconds now{0};
    PassTime(&now, &steps);
    steps.session = [&](const VerifyTask& task, VerifiedPeer* peer,
                        SessionReport* report) {
      peer->families = {"default"};
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

TEST(VerifiedPeerTest, LaterLooksAreAtTheSame) {
  VerifiedPeer peer;
  const VerifiedPeer first = {
      .peer_id = 7, .link = 1, .families = {"default", "m"}};
  EXPECT_TRUE(CheckIsSame(first, &peer).ok());
  EXPECT_TRUE(CheckIsSame(first, &peer).ok());
  VerifiedPeer other = first;
  other.peer_id = 8;
  EXPECT_TRUE(CheckIsSame(other, &peer).IsTryAgain());
  other = first;
  other.families = {"aaa", "m"};
  EXPECT_TRUE(CheckIsSame(other, &peer).IsTryAgain());
  EXPECT_FALSE(peer.reconnected);
  other = first;
  other.link = 2;
  EXPECT_TRUE(CheckIsSame(other, &peer).IsTryAgain());
  EXPECT_TRUE(peer.reconnected);
}

// What the first look found says nothing then.
TEST_F(VerificationTest, BeginsAnewOverANewConnection) {
  int looks = 0;
  VerificationSteps steps;
  std::chrono::milliseconds now{0};
  PassTime(&now, &steps);
  int reconnections = 1;
  steps.session = [&](const VerifyTask& task, VerifiedPeer* peer,
                      SessionReport* report) {
    peer->families = {"default"};
    *report = {};
    if (++looks % 2 == 0 && reconnections > 0) {
      --reconnections;
      peer->reconnected = true;
      return rocksdb::Status::TryAgain();
    }
    report->compared = true;
    const bool again = looks > 2;
    task.found({0, again ? "of then" : "before", {}, Live(5)});
    return rocksdb::Status::OK();
  };
  VerifyOptions options;
  options.in_flight_wait = std::chrono::milliseconds(1000);
  const auto differs = [this](const KeyDifference& difference) {
    told_.push_back(difference.key);
  };
  EXPECT_TRUE(RunVerification(options, steps, differs, &result_).ok());
  EXPECT_EQ(told_, std::vector<std::string>{"of then"});
  EXPECT_EQ(now, options.in_flight_wait) << "all in all";
  looks = 0;
  reconnections = 100;
  EXPECT_TRUE(RunVerification(options, steps, differs, &result_).IsTryAgain());
  EXPECT_EQ(looks, 8) << "the first, and three times anew";
  EXPECT_FALSE(result_.complete);
}

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

// Many keys, each of which arrives at a look of its own: 1 is the first that
// may not find it.
class LooksAtMany : public ::testing::Test {
 protected:
  static constexpr int kNever = INT_MAX;

  // `arrives`: for each key, in order, the look at which it agrees.
  rocksdb::Status Run(uint64_t max_keys, std::vector<int> arrives) {
    asked_.clear();
    compared_ = 0;
    told_ = 0;
    VerificationSteps steps;
    std::chrono::milliseconds now{0};
    steps.sleep = [&](std::chrono::milliseconds time) {
      ++slept_;
      now += time;
      return true;
    };
    steps.now = [&now] { return now; };
    steps.session = [&](const VerifyTask& task, VerifiedPeer* peer,
                        SessionReport* report) {
      peer->families = {"default"};
      *report = {};
      now += look_takes_;
      std::vector<std::string> keys;
      if (slept_ > 0) asked_.push_back(task.keys.size());
      for (const auto& [family, key] : task.keys) keys.push_back(key);
      for (size_t i = 0; slept_ == 0 && i < arrives.size(); ++i) {
        if (arrives[i] > 0) keys.push_back(std::to_string(i));
      }
      for (const std::string& key : keys) {
        const bool there = arrives.at(std::stoul(key)) <= slept_;
        if (slept_ > 0 && there == false) ++compared_;
        if (!task.found({0, key, there ? Live(5) : Held(), Live(5)})) {
          return rocksdb::Status::OK();
        }
      }
      report->compared = true;
      return rocksdb::Status::OK();
    };
    VerifyOptions options;
    options.max_keys = max_keys;
    return RunVerification(
        options, steps, [this](const KeyDifference&) { ++told_; }, &result_);
  }

  VerifyResult result_;
  int slept_ = 0;
  std::chrono::milliseconds look_takes_{0};
  std::vector<size_t> asked_;  // keys that later looks were at
  size_t compared_ = 0;        // by later looks, and found to differ
  uint64_t told_ = 0;
};

TEST_F(LooksAtMany, MoreThanMayBeToldAreOnTheirWay) {
  const rocksdb::Status status = Run(1, std::vector<int>(5000, 1));
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(result_.equal);
  EXPECT_EQ(result_.in_flight, 5000u);
  EXPECT_EQ(asked_, std::vector<size_t>{5000});
}

TEST_F(LooksAtMany, WhatDiffersIsFoundAmongWhatArrives) {
  std::vector<int> arrives(9000, 1);
  arrives[8000] = arrives[100] = kNever;
  const rocksdb::Status status = Run(10, arrives);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_FALSE(result_.equal);
  EXPECT_TRUE(result_.complete);
  EXPECT_EQ(told_, 2u);
  EXPECT_EQ(result_.differences, 2u);
  EXPECT_EQ(result_.in_flight, 8998u);
}

TEST_F(LooksAtMany, NoMoreIsLookedAtThanTellsThatThereAreMore) {
  const rocksdb::Status status = Run(10, std::vector<int>(9000, kNever));
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_FALSE(result_.equal);
  EXPECT_FALSE(result_.complete);
  EXPECT_EQ(told_, 10u);
  EXPECT_EQ(result_.differences, 10u);
  EXPECT_EQ(compared_, asked_.size() - 1 + 11)
      << "one at each look, 11 at last";
}

// Looks count, too: of slow ones there are few, and one after all that time.
TEST_F(LooksAtMany, TheTimeOfLooksIsTimeThatPasses) {
  look_takes_ = std::chrono::seconds(7);  // of 15 s
  const rocksdb::Status status = Run(10, std::vector<int>(3, kNever));
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(told_, 3u);
  EXPECT_EQ(asked_, (std::vector<size_t>{3, 3, 3}));
}

TEST_F(LooksAtMany, AsManyAsMayBeToldAreAll) {
  const rocksdb::Status status = Run(10, std::vector<int>(10, kNever));
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(result_.complete);
  EXPECT_EQ(told_, 10u);
}

TEST_F(LooksAtMany, WhatFollowsThoseThatAreHeldIsNotCalledDifferent) {
  const rocksdb::Status status = Run(10, std::vector<int>(20'001, 1));
  EXPECT_TRUE(status.IsIncomplete()) << status.ToString();
  EXPECT_NE(status.ToString().find("the first 20000 keys that differed"),
            std::string::npos)
      << status.ToString();
  EXPECT_FALSE(result_.equal);
  EXPECT_FALSE(result_.complete);
  EXPECT_EQ(told_, 0u);

  slept_ = 0;
  EXPECT_TRUE(Run(20'000, std::vector<int>(20'001, 1)).ok());
  EXPECT_TRUE(result_.equal);
}

}  // namespace
}  // namespace rocksync
