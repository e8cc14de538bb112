#include "examples/replicated_store/glob.h"

#include <string>

#include "gtest/gtest.h"

namespace rocksync {
namespace {

TEST(Glob, Literal) {
  EXPECT_TRUE(GlobMatches("", ""));
  EXPECT_FALSE(GlobMatches("", "a"));
  EXPECT_TRUE(GlobMatches("abc", "abc"));
  EXPECT_FALSE(GlobMatches("abc", "abd"));
  EXPECT_FALSE(GlobMatches("abc", "ab"));
  EXPECT_FALSE(GlobMatches("ab", "abc"));
}

TEST(Glob, Stars) {
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_TRUE(GlobMatches("*", "anything"));
  EXPECT_TRUE(GlobMatches("user:*:name", "user:17:name"));
  EXPECT_FALSE(GlobMatches("user:*:name", "user:17:names"));
  EXPECT_TRUE(GlobMatches("a*b*c", "a--b--b--c"));
  EXPECT_TRUE(GlobMatches("**a**", "bab"));
  EXPECT_FALSE(GlobMatches("*a", "ab"));
}

TEST(Glob, OneByte) {
  EXPECT_TRUE(GlobMatches("?", "x"));
  EXPECT_FALSE(GlobMatches("?", ""));
  EXPECT_TRUE(GlobMatches("a?c", std::string("a\0c", 3)));
}

TEST(Glob, Sets) {
  EXPECT_TRUE(GlobMatches("[abc]", "b"));
  EXPECT_FALSE(GlobMatches("[abc]", "d"));
  EXPECT_TRUE(GlobMatches("[a-c]x", "bx"));
  EXPECT_TRUE(GlobMatches("[c-a]x", "bx"));
  EXPECT_FALSE(GlobMatches("[^a-c]x", "bx"));
  EXPECT_TRUE(GlobMatches("[^a-c]x", "dx"));
  EXPECT_TRUE(GlobMatches("[\\]]", "]"));
  EXPECT_TRUE(GlobMatches("[a-]", "-"));
  EXPECT_TRUE(GlobMatches("[\x80-\xff]", "\xc3"));
  EXPECT_TRUE(GlobMatches("[a", "a"));
  EXPECT_FALSE(GlobMatches("[", "["));
  EXPECT_FALSE(GlobMatches("[]", "a"));
}

TEST(Glob, Escapes) {
  EXPECT_TRUE(GlobMatches("\\*", "*"));
  EXPECT_FALSE(GlobMatches("\\*", "a"));
  EXPECT_TRUE(GlobMatches("a\\", "a\\"));
}

// Exponential in a matcher that tries every star anew.
TEST(Glob, HostilePatternEnds) {
  std::string pattern;
  for (int i = 0; i < 1000; ++i) pattern += "*a";
  EXPECT_FALSE(GlobMatches(pattern + "*b", std::string(10'000, 'a')));
}

}  // namespace
}  // namespace rocksync
