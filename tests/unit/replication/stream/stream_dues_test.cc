#include "replication/stream/stream_dues.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace rocksync {
namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

TEST(StreamDuesTest, AChangeIsUnderWayFromTheLogToThePeer) {
  StreamDues dues;
  EXPECT_EQ(dues.changes_under_way(), 0u);
  EXPECT_EQ(dues.oldest_under_way_ms(), kNever);
  dues.TookFromLog(7, 100);
  EXPECT_EQ(dues.changes_under_way(), 7u);
  EXPECT_EQ(dues.oldest_under_way_ms(), 100u);
  // Full messages go first, and the last one counts.
  dues.Sent(50, 0, 100);
  EXPECT_EQ(dues.changes_under_way(), 7u);
  dues.Sent(30, 7, 100);
  EXPECT_EQ(dues.changes_under_way(), 7u);
  dues.TookFromLog(2, 200);
  EXPECT_EQ(dues.changes_under_way(), 9u);
  EXPECT_EQ(dues.oldest_under_way_ms(), 100u);
  ASSERT_TRUE(dues.Taken(80));
  EXPECT_EQ(dues.changes_under_way(), 2u);
  EXPECT_EQ(dues.oldest_under_way_ms(), 200u);
  // The others of these are not for this peer.
  dues.TookFromLog(0, 0);
  EXPECT_EQ(dues.changes_under_way(), 0u);
  EXPECT_EQ(dues.oldest_under_way_ms(), kNever);
}

TEST(StreamDuesTest, ThePeerTakesNoMoreThanWasSent) {
  StreamDues dues;
  dues.Sent(50, 1, 100);
  EXPECT_FALSE(dues.Taken(51));
  EXPECT_TRUE(dues.Taken(50));
  EXPECT_FALSE(dues.Taken(1));
}

}  // namespace
}  // namespace rocksync
