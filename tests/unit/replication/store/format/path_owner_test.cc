#include "replication/store/format/path_owner.h"

#include <gtest/gtest.h>

#include <string>

namespace rocksync {
namespace {

TEST(PathOwnerTest, ComesBackAsItWas) {
  const PathOwner owner = {.database = {.path = "/a b\nc",
                                        .device = 1,
                                        .inode = 18446744073709551615u},
                           .path = {.path = "", .device = 0, .inode = 0}};
  PathOwner back;
  ASSERT_TRUE(Decode(Encode(owner), &back));
  EXPECT_EQ(Encode(back), Encode(owner));
  EXPECT_EQ(back.token, owner.token);
  EXPECT_EQ(back.database.path, owner.database.path);
}

TEST(PathOwnerTest, OtherBytesAreRefused) {
  const std::string bytes =
      Encode({.database = {.path = "/db", .device = 1, .inode = 2},
              .path = {.path = "/wal", .device = 1, .inode = 3}});
  PathOwner owner;
  ASSERT_TRUE(Decode(bytes, &owner));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Decode(bytes.substr(0, size), &owner)) << size;
  }
  EXPECT_FALSE(Decode(bytes + "x", &owner));
  EXPECT_FALSE(Decode("2" + bytes.substr(1), &owner));
  EXPECT_FALSE(Decode(
      "1 0000000000000007 1 1 1 1 18446744073709551615 1\n/\n/\n", &owner));
}

TEST(PathOwnerTest, ADirectoryIsKnownByItsPathOrItsInode) {
  const DirectoryName one = {.path = "/a", .device = 1, .inode = 2};
  EXPECT_TRUE(one.Is({.path = "/a"}));
  EXPECT_TRUE(one.Is({.path = "/b", .device = 1, .inode = 2}));
  EXPECT_FALSE(one.Is({.path = "/b", .device = 3, .inode = 2}));
  EXPECT_FALSE(one.Is({.path = "/b", .device = 1, .inode = 3}));
  const DirectoryName unknown = {.path = "/a"};
  EXPECT_FALSE(unknown.Is({.path = "/b"}));
}

}  // namespace
}  // namespace rocksync
