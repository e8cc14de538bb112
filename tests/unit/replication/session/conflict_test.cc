#include "replication/session/conflict.h"

#include <vector>

#include "gtest/gtest.h"
#include "replication/session/acceptance.h"

namespace rocksync {
namespace {

std::vector<Contender> AllContenders() {
  std::vector<Contender> all;
  for (const uint64_t time : {0, 1, 2}) {
    for (const uint64_t replica : {0, 1}) {
      const Version version = {.time = time, .replica = replica};
      all.push_back({.version = version, .tombstone = true, .hash = {}});
      for (const uint64_t hash : {0, 1, 2}) {
        all.push_back({.version = version,
                       .tombstone = false,
                       .hash = {.high = hash / 2, .low = hash % 2}});
      }
    }
  }
  return all;
}

TEST(BeatsTest, IsAStrictTotalOrder) {
  const std::vector<Contender> all = AllContenders();
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_FALSE(Beats(all[i], all[i]));
    for (size_t j = 0; j < all.size(); ++j) {
      if (i != j) {
        EXPECT_NE(Beats(all[i], all[j]), Beats(all[j], all[i]));
      }
      for (const Contender& c : all) {
        if (Beats(all[i], all[j]) && Beats(all[j], c)) {
          EXPECT_TRUE(Beats(all[i], c));
        }
      }
    }
  }
}

TEST(BeatsTest, TheLaterVersionWinsWhateverItHolds) {
  const Contender early = {
      .version = {.time = 1, .replica = 9}, .tombstone = true, .hash = {}};
  const Contender late = {
      .version = {.time = 2, .replica = 0}, .tombstone = false, .hash = {}};
  EXPECT_TRUE(Beats(late, early));
  EXPECT_FALSE(Beats(early, late));
  const Contender other = {
      .version = {.time = 2, .replica = 1}, .tombstone = false, .hash = {}};
  EXPECT_TRUE(Beats(other, late));
}

TEST(BeatsTest, OfOneVersionTheTombstoneWins) {
  const Contender deleted = {.version = {}, .tombstone = true, .hash = {}};
  const Contender live = {.version = {}, .tombstone = false, .hash = {1, 2}};
  EXPECT_TRUE(Beats(deleted, live));
  EXPECT_FALSE(Beats(live, deleted));
}

TEST(BeatsTest, TheValueOfATombstoneDoesNotCount) {
  const Contender a = {.version = {}, .tombstone = true, .hash = {1, 2}};
  const Contender b = {.version = {}, .tombstone = true, .hash = {3, 4}};
  EXPECT_FALSE(Beats(a, b) || Beats(b, a));
}

const Contender kLive = {.version = {5, 6}, .tombstone = false, .hash = {1, 2}};
const Contender kGreater = {
    .version = {5, 6}, .tombstone = false, .hash = {1, 3}};
const Contender kDeleted = {
    .version = {5, 6}, .tombstone = true, .hash = {7, 7}};
const Contender kDeletedOtherwise = {
    .version = {5, 6}, .tombstone = true, .hash = {7, 8}};

TEST(ContendAtOneVersionTest, WhatIsEqualIsOnePair) {
  for (const Contender& pair : {kLive, kGreater, kDeleted}) {
    EXPECT_EQ(ContendAtOneVersion(pair, pair), AtOneVersion::kSame);
  }
}

TEST(ContendAtOneVersionTest, OfTwoTombstonesThatDifferTheStoredOneIsDamaged) {
  EXPECT_EQ(ContendAtOneVersion(kDeleted, kDeletedOtherwise),
            AtOneVersion::kTheirs);
  EXPECT_EQ(ContendAtOneVersion(kDeletedOtherwise, kDeleted),
            AtOneVersion::kTheirs);
}

TEST(ContendAtOneVersionTest, WhatIsDamagedBeatsNothing) {
  EXPECT_EQ(ContendAtOneVersion(kGreater, kLive), AtOneVersion::kTheirs);
  EXPECT_EQ(ContendAtOneVersion(kLive, kGreater),
            AtOneVersion::kStoredIfIntact);
  EXPECT_EQ(ContendAtOneVersion(kDeleted, kLive), AtOneVersion::kTheirs);
  EXPECT_EQ(ContendAtOneVersion(kLive, kDeleted), AtOneVersion::kStored)
      << "a tombstone has no value that could be damaged";
}

TEST(ContendAtOneVersionTest, AnOfferThatDoesNotSayItsHash) {
  for (const Contender& offer : {kLive, kGreater}) {
    EXPECT_EQ(ContendAtOneVersion(offer, kLive, /*theirs_is_hashed=*/false),
              AtOneVersion::kStoredIfIntact);
    EXPECT_EQ(ContendAtOneVersion(offer, kDeleted, /*theirs_is_hashed=*/false),
              AtOneVersion::kStored);
  }
}

// Where nothing is damaged, it is what Beats says, and both sides agree.
TEST(ContendAtOneVersionTest, IsBeats) {
  for (const Contender& theirs : AllContenders()) {
    for (const Contender& stored : AllContenders()) {
      if (theirs.version != stored.version) continue;
      EXPECT_EQ(ContendAtOneVersion(theirs, stored) == AtOneVersion::kTheirs,
                Beats(theirs, stored));
    }
  }
}

// By the clock first, then by the replica.
TEST(VersionTest, Order) {
  const std::vector<Version> ascending = {{.time = 0, .replica = 0},
                                          {.time = 0, .replica = 2},
                                          {.time = 1, .replica = 1},
                                          {.time = 1, .replica = ~uint64_t{0}},
                                          {.time = ~uint64_t{0}, .replica = 0}};
  for (size_t i = 0; i < ascending.size(); ++i) {
    for (size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(ascending[i] < ascending[j], i < j);
      EXPECT_EQ(ascending[i] > ascending[j], i > j);
      EXPECT_EQ(ascending[i] <= ascending[j], i <= j);
      EXPECT_EQ(ascending[i] >= ascending[j], i >= j);
      EXPECT_EQ(ascending[i] == ascending[j], i == j);
      EXPECT_EQ(ascending[i] <=> ascending[j], i <=> j);
    }
  }
}

TEST(TooFarAheadTest, TheBoundIsIncluded) {
  const Version version = {.time = uint64_t{1000} << 16 | 0xffff, .replica = 1};
  EXPECT_FALSE(TooFarAhead(version, 1000, 0));
  EXPECT_FALSE(TooFarAhead(version, 2000, 0));
  EXPECT_FALSE(TooFarAhead(version, 940, 60));
  EXPECT_TRUE(TooFarAhead(version, 939, 60));
  EXPECT_TRUE(TooFarAhead({.time = ~uint64_t{0}, .replica = 1}, 0, 1));
}

TEST(CompareVersionsTest, ThreeWays) {
  const Version a = {.time = 1, .replica = 1};
  const Version b = {.time = 1, .replica = 2};
  EXPECT_EQ(CompareVersions(a, b), VersionOrder::kOlder);
  EXPECT_EQ(CompareVersions(b, a), VersionOrder::kNewer);
  EXPECT_EQ(CompareVersions(a, a), VersionOrder::kEqualVersions);
}

TEST(TrustedTest, AReadingIsBelievedUpToTheBound) {
  constexpr uint64_t kWallMs = 1'000'000;
  constexpr uint64_t kAheadMs = 60'000;
  const uint64_t bound = (kWallMs + kAheadMs) << 16;
  EXPECT_EQ(Trusted(0, kWallMs, kAheadMs), 0u);
  EXPECT_EQ(Trusted(kWallMs << 16, kWallMs, kAheadMs), kWallMs << 16);
  // The counter is not time.
  EXPECT_EQ(Trusted(bound | 0xffff, kWallMs, kAheadMs), bound | 0xffff);
  // Beyond, the time here counts, so that it may be corrected.
  EXPECT_EQ(Trusted(bound + (1 << 16), kWallMs, kAheadMs), kWallMs << 16);
  EXPECT_EQ(Trusted(~uint64_t{0}, kWallMs, kAheadMs), kWallMs << 16);
  // What is believed is never more than what was said.
  for (uint64_t reading = 0; reading < 2 * bound; reading += bound / 97) {
    EXPECT_LE(Trusted(reading, kWallMs, kAheadMs), reading);
  }
}

TEST(IsCollectedTest, TombstonesUpToTheStableTime) {
  const Version version = {.time = 77, .replica = 1};
  EXPECT_TRUE(IsCollected(true, version, 77));
  EXPECT_FALSE(IsCollected(true, version, 76));
  EXPECT_FALSE(IsCollected(false, version, 77));
  EXPECT_FALSE(IsCollected(true, {}, 0));
}

}  // namespace
}  // namespace rocksync
