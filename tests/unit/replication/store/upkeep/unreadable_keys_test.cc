#include "replication/store/upkeep/unreadable_keys.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace rocksync {
namespace {

constexpr uint64_t kFirstMs = 1'000'000;
constexpr uint64_t kLastsMs = UnreadableKeys::kLastsMs;

TEST(UnreadableKeysTest, IsAFactOnceItHasLasted) {
  UnreadableKeys keys;
  EXPECT_FALSE(keys.NoteAndCheckPersisted(0, "key", kFirstMs));
  EXPECT_FALSE(keys.NoteAndCheckPersisted(0, "key", kFirstMs + kLastsMs - 1));
  EXPECT_TRUE(keys.NoteAndCheckPersisted(0, "key", kFirstMs + kLastsMs));
  EXPECT_TRUE(keys.NoteAndCheckPersisted(0, "key", kFirstMs + kLastsMs + 1))
      << "and stays one";
}

TEST(UnreadableKeysTest, OneThatReadMeanwhileBeginsAgain) {
  UnreadableKeys keys;
  EXPECT_FALSE(keys.NoteAndCheckPersisted(0, "key", kFirstMs));
  keys.Forget(0, "key");
  EXPECT_FALSE(keys.NoteAndCheckPersisted(0, "key", kFirstMs + kLastsMs));
  EXPECT_TRUE(keys.NoteAndCheckPersisted(0, "key", kFirstMs + 2 * kLastsMs));
}

TEST(UnreadableKeysTest, FamiliesAreApart) {
  UnreadableKeys keys;
  EXPECT_FALSE(keys.NoteAndCheckPersisted(0, "key", kFirstMs));
  EXPECT_FALSE(keys.NoteAndCheckPersisted(1, "key", kFirstMs + kLastsMs));
  keys.Forget(1, "key");
  EXPECT_TRUE(keys.NoteAndCheckPersisted(0, "key", kFirstMs + kLastsMs));
}

TEST(UnreadableKeysTest, ThoseThatItHasNoRoomForWait) {
  UnreadableKeys keys;
  for (int i = 0; i < 4096; ++i) {
    EXPECT_FALSE(keys.NoteAndCheckPersisted(0, std::to_string(i), kFirstMs));
  }
  EXPECT_FALSE(keys.NoteAndCheckPersisted(0, "more", kFirstMs));
  EXPECT_FALSE(keys.NoteAndCheckPersisted(0, "more", kFirstMs + kLastsMs))
      << "nothing is known of it";
  EXPECT_TRUE(keys.NoteAndCheckPersisted(0, "17", kFirstMs + kLastsMs));
  // Once nobody asks for the others any more there is room again.
  EXPECT_FALSE(keys.NoteAndCheckPersisted(0, "more", kFirstMs + 10 * kLastsMs));
  EXPECT_TRUE(keys.NoteAndCheckPersisted(0, "more", kFirstMs + 11 * kLastsMs));
}

}  // namespace
}  // namespace rocksync
