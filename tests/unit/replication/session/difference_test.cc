#include "replication/session/difference.h"

#include "gtest/gtest.h"

namespace rocksync {
namespace {

constexpr auto kNothing = Held::State::kNothing;
constexpr auto kTombstone = Held::State::kTombstone;
constexpr auto kLive = Held::State::kLive;

Held At(uint64_t time, uint64_t hash = 0, Held::State state = kLive) {
  return {state, {.time = time, .replica = 1}, {hash, hash}};
}
Held Nothing() { return {}; }
Difference Of(const Held& mine, const Held& theirs) {
  return {0, "key", mine, theirs};
}

TEST(DifferenceTest, WhatIsTheSame) {
  EXPECT_TRUE(Same(Nothing(), Nothing()));
  EXPECT_TRUE(Same(At(5, 1), At(5, 1)));
  EXPECT_TRUE(Same(At(5, 1, kTombstone), At(5, 2, kTombstone)));
  EXPECT_FALSE(Same(At(5, 1), At(5, 2)));
  EXPECT_FALSE(Same(At(5, 1), At(6, 1)));
  EXPECT_FALSE(Same(At(5), At(5, 0, kTombstone)));
  EXPECT_FALSE(Same(At(5), Nothing()));
  EXPECT_EQ(Held{}.state, kNothing);
}

TEST(DifferenceTest, Kinds) {
  EXPECT_EQ(KindOf(Of(Nothing(), At(5))), DifferenceKind::kMissingHere);
  EXPECT_EQ(KindOf(Of(At(5), Nothing())), DifferenceKind::kMissingThere);
  EXPECT_EQ(KindOf(Of(At(5), At(6))), DifferenceKind::kVersion);
  EXPECT_EQ(KindOf(Of(At(5, 1), At(5, 2))), DifferenceKind::kContent);
}

TEST(DifferenceTest, WhatArrivedWasInFlight) {
  const Difference first = Of(Nothing(), At(5, 1));
  EXPECT_FALSE(StillDiffers(first, Of(At(5, 1), At(5, 1))));
  EXPECT_TRUE(StillDiffers(first, Of(Nothing(), At(5, 1))));
  EXPECT_TRUE(StillDiffers(first, Of(Nothing(), At(9, 1))));
}

TEST(DifferenceTest, AHotKeyIsNotDifferentWhileItsWritesArrive) {
  const Difference first = Of(At(4, 1), At(5, 1));
  EXPECT_FALSE(StillDiffers(first, Of(At(5, 1), At(8, 3))));
  EXPECT_FALSE(StillDiffers(first, Of(At(9, 1), At(8, 3))));
  EXPECT_TRUE(StillDiffers(first, Of(At(4, 1), At(8, 3))));
  const Difference other_way = Of(At(5, 1), At(4, 1));
  EXPECT_FALSE(StillDiffers(other_way, Of(At(8, 3), At(5, 1))));
  EXPECT_TRUE(StillDiffers(other_way, Of(At(8, 3), At(4, 1))));
}

TEST(DifferenceTest, OtherContentStaysOnlyAtThatVersion) {
  const Difference first = Of(At(5, 1), At(5, 2));
  EXPECT_TRUE(StillDiffers(first, Of(At(5, 1), At(5, 2))));
  EXPECT_FALSE(StillDiffers(first, Of(At(5, 2), At(5, 2))));
  EXPECT_FALSE(StillDiffers(first, Of(At(5, 1), At(6, 2))));
  EXPECT_FALSE(StillDiffers(first, Of(At(6, 1), At(6, 2))));
}

}  // namespace
}  // namespace rocksync
