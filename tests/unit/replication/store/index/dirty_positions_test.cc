#include "replication/store/index/dirty_positions.h"

#include <gtest/gtest.h>

#include <vector>

namespace rocksync {
namespace {

TEST(DirtyPositionsTest, TracksUntilTooManyAndStartsAnew) {
  DirtyPositions dirty;
  std::vector<uint64_t> positions;
  std::vector<DigestChange> known;
  dirty.Add(1);
  EXPECT_FALSE(dirty.Take(&positions, &known)) << "was not tracking";
  for (int i = 0; i < 100000; ++i) dirty.Add(static_cast<uint64_t>(i % 5));
  EXPECT_TRUE(dirty.Take(&positions, &known)) << "hot keys take no room";
  EXPECT_EQ(positions, (std::vector<uint64_t>{0, 1, 2, 3, 4}));
  dirty.Add(9);
  dirty.Add(8);
  dirty.Add(9);
  EXPECT_TRUE(dirty.Take(&positions, &known));
  EXPECT_EQ(positions, (std::vector<uint64_t>{8, 9}));
  for (uint64_t i = 0; i < 1000000; ++i) dirty.Add(i);
  EXPECT_FALSE(dirty.tracking());
  EXPECT_FALSE(dirty.Take(&positions, &known));
  EXPECT_TRUE(positions.empty());
  EXPECT_TRUE(dirty.Take(&positions, &known));
}

TEST(DirtyPositionsTest, KnownChangesCountWhereNothingElseWasWritten) {
  DirtyPositions dirty;
  std::vector<uint64_t> positions;
  std::vector<DigestChange> known;
  dirty.Take(&positions, &known);
  const DigestChange one{16, {1, 0, 7}};
  const DigestChange other{24, {0, 0, 9}};
  dirty.AddKnown(one);
  dirty.AddKnown(other);
  dirty.AddKnown({32, {1, 0, 1}});
  dirty.Add(32);
  dirty.Add(40);
  dirty.AddKnown({40, {1, 0, 1}});
  EXPECT_TRUE(dirty.Take(&positions, &known));
  EXPECT_EQ(positions, (std::vector<uint64_t>{32, 40}));
  EXPECT_EQ(known, (std::vector<DigestChange>{one, other}));
  EXPECT_TRUE(dirty.Take(&positions, &known));
  EXPECT_TRUE(known.empty());
}

TEST(DirtyPositionsTest, KnownChangesWithoutRoomAreNotedByPosition) {
  DirtyPositions dirty;
  std::vector<uint64_t> positions;
  std::vector<DigestChange> known;
  dirty.Take(&positions, &known);
  constexpr uint64_t kMany = 20000;  // in one list
  for (uint64_t i = 0; i < kMany; ++i) dirty.AddKnown({8 * i, {1, 0, i}});
  EXPECT_TRUE(dirty.Take(&positions, &known));
  EXPECT_FALSE(positions.empty());
  EXPECT_EQ(positions.size() + known.size(), kMany);
}

}  // namespace
}  // namespace rocksync
