#include "replication/replicator/redial_pause.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace rocksync {
namespace {

using std::chrono::milliseconds;

TEST(RedialPause, DoublesWhileNothingComesOfIt) {
  RedialPause pause;
  milliseconds before = pause.After(false);
  EXPECT_EQ(before, RedialPause::kFirst);
  for (int i = 0; i < 100; ++i) {
    const milliseconds next = pause.After(false);
    EXPECT_EQ(next, std::min(2 * before, RedialPause::kLongest));
    before = next;
  }
  EXPECT_EQ(before, RedialPause::kLongest);
}

// Two replicas that dial each other end with one stream, over and over again
// while the member list changes; that is no failure.
TEST(RedialPause, IsShortAgainOnceThereIsAStream) {
  RedialPause pause;
  for (int i = 0; i < 10; ++i) pause.After(false);
  EXPECT_EQ(pause.After(true), RedialPause::kFirst);
  EXPECT_EQ(pause.After(true), RedialPause::kFirst);
  EXPECT_EQ(pause.After(false), 2 * RedialPause::kFirst);
}

}  // namespace
}  // namespace rocksync
