#include "replication/store/upkeep/held_back.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/kept_log.h"
#include "tests/unit/replication/store/upkeep/one_family.h"

namespace rocksync {
namespace {

class HeldBackTest : public ::testing::Test {
 protected:
  uint64_t MostAhead() const {
    return db_.indexed()->options().max_clock_ahead_ms;
  }
  // Of replica 0xab, whose clock is so far ahead of this machine's.
  Version Ahead(uint64_t ms) const {
    return {.time = (db_.indexed()->WallMs() + ms) << 16, .replica = 0xab};
  }
  IndexStats Stats() const {
    IndexStats stats;
    held_back_.AddTo(&stats);
    return stats;
  }

  const std::shared_ptr<KeptLog> log_ = std::make_shared<KeptLog>();
  OneFamily db_{log_};
  HeldBack held_back_{db_.indexed()};
};

TEST_F(HeldBackTest, HoldsWhatIsTooFarAheadAndNamesWhose) {
  EXPECT_FALSE(held_back_.RejectIfTooFarAhead(Ahead(MostAhead() - 30'000)));
  EXPECT_FALSE(held_back_.RejectIfTooFarAhead(Version{})) << "unversioned";
  EXPECT_EQ(Stats().pairs_held_back, 0u);
  EXPECT_EQ(Stats().held_back_replica, 0u);

  EXPECT_TRUE(held_back_.RejectIfTooFarAhead(Ahead(MostAhead() + 30'000)));
  EXPECT_EQ(Stats().pairs_held_back, 1u);
  EXPECT_EQ(Stats().held_back_replica, 0xabu);
  EXPECT_EQ(log_->Count("holding back a pair of replica 00000000000000ab"), 1u);
}

TEST_F(HeldBackTest, OneLineAMinute) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(held_back_.RejectIfTooFarAhead(Ahead(MostAhead() + 30'000)));
  }
  EXPECT_EQ(log_->Count("holding back"), 1u);
  db_.SetAhead(61'000);
  EXPECT_EQ(Stats().held_back_replica, 0u) << "not lately";
  EXPECT_EQ(Stats().pairs_held_back, 3u);
  EXPECT_TRUE(held_back_.RejectIfTooFarAhead(Ahead(MostAhead() + 30'000)));
  EXPECT_EQ(log_->Count("holding back"), 2u);
}

TEST_F(HeldBackTest, NamesTheFirstBytesOfTheKeyOfAPairThatIsTooLarge) {
  held_back_.NoteOversized("family", std::string(5000, 'k'));
  held_back_.NoteOversized("family", std::string(6000, 'k'));
  EXPECT_EQ(Stats().pairs_too_large, 2u);
  EXPECT_EQ(log_->Count("a pair in family family does not travel"), 1u);
  EXPECT_EQ(log_->Count("of 5000 bytes, begins with 0x6b6b"), 1u);
}

}  // namespace
}  // namespace rocksync
