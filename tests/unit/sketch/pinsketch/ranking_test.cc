#include "sketch/pinsketch/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

namespace rocksync {
namespace {

// All small multisets of ids here and there: what the decoder resolves is what
// the owner finds under the same ranks.
TEST(RankingTest, BothSidesAgreeExhaustively) {
  for (int world = 0; world < 6561; ++world) {
    // Of each of four ids: 0, 1 or 2 here and there.
    std::vector<uint32_t> here;
    std::vector<uint32_t> there;
    std::vector<uint32_t> difference;
    std::set<uint32_t> only_there;
    int digits = world;
    for (uint32_t id = 10; id < 14; ++id) {
      const int a = digits % 3;
      const int b = digits / 3 % 3;
      digits /= 9;
      for (int i = 0; i < a; ++i) here.push_back(id);
      for (int i = 0; i < b; ++i) there.push_back(id);
      if (a % 2 != b % 2) difference.push_back(id);
      if (a % 2 == 0 && b == 1) only_there.insert(id);
    }
    const ResolvedGroup resolved = ResolveGroup(5, here, difference);
    EXPECT_EQ(resolved.count_there, CountRanked(there)) << world;
    std::set<uint32_t> named;
    uint64_t check = 0;
    for (const RankedId& found : FindRanks(there, resolved.ranks_there)) {
      ASSERT_TRUE(found.index);
      EXPECT_EQ(there[*found.index], found.id);
      named.insert(found.id);
      check += IdCheck(5, found.id);
    }
    EXPECT_EQ(named, only_there) << world;
    EXPECT_EQ(check, resolved.check);
    for (const uint32_t index : resolved.lacked_there) {
      EXPECT_TRUE(std::binary_search(difference.begin(), difference.end(),
                                     here[index]));
    }
  }
}

}  // namespace
}  // namespace rocksync
