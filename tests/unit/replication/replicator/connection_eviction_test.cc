#include "replication/replicator/connection_eviction.h"

#include <gtest/gtest.h>

namespace rocksync {
namespace {

TEST(OldestOfMost, OfTheCertificateThatHasMost) {
  EXPECT_EQ(OldestOfMost({1, 2, 2}), 1u);
  EXPECT_EQ(OldestOfMost({2, 1, 2}), 0u);
  EXPECT_EQ(OldestOfMost({1, 3, 3, 2, 3, 2}), 1u);
  // Without certificates all have the id 0.
  EXPECT_EQ(OldestOfMost({0, 0, 0}), 0u);
  EXPECT_EQ(OldestOfMost({5}), 0u);
}

// Who is alone is not closed for as long as another has two.
TEST(OldestOfMost, WhoHasOneIsNotClosedByWhoOpensMany) {
  std::vector<uint64_t> ids = {7};
  for (int i = 0; i < 100; ++i) {
    ids.push_back(9);
    if (ids.size() > 16) {
      ids.erase(ids.begin() + static_cast<ptrdiff_t>(OldestOfMost(ids)));
    }
    ASSERT_EQ(ids.front(), 7u);
  }
}

}  // namespace
}  // namespace rocksync
