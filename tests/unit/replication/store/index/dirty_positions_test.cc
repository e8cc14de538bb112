#include "replication/store/index/dirty_positions.h"

#include <gtest/gtest.h>

#include <vector>

namespace rocksync {
namespace {

TEST(DirtyPositionsTest, TracksUntilTooManyAndStartsAnew) {
  DirtyPositions dirty;
  std::vector<uint64_t> positions;
  dirty.Add(1);
  EXPECT_FALSE(dirty.Take(&positions)) << "was not tracking";
  for (int i = 0; i < 100000; ++i) dirty.Add(static_cast<uint64_t>(i % 5));
  EXPECT_TRUE(dirty.Take(&positions)) << "hot keys take no room";
  EXPECT_EQ(positions, (std::vector<uint64_t>{0, 1, 2, 3, 4}));
  dirty.Add(9);
  dirty.Add(8);
  dirty.Add(9);
  EXPECT_TRUE(dirty.Take(&positions));
  EXPECT_EQ(positions, (std::vector<uint64_t>{8, 9}));
  for (uint64_t i = 0; i < 1000000; ++i) dirty.Add(i);
  EXPECT_FALSE(dirty.tracking());
  EXPECT_FALSE(dirty.Take(&positions));
  EXPECT_TRUE(positions.empty());
  EXPECT_TRUE(dirty.Take(&positions));
}

}  // namespace
}  // namespace rocksync
