#include "replication/base/directories.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "rocksdb/env.h"

namespace rocksync {
namespace {

TEST(AbsolutePathTest, PathsAreOneForOnePlace) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  EXPECT_EQ(AbsolutePath(env, "/a/b"), "/a/b");
  EXPECT_EQ(AbsolutePath(env, "/a/./c/../b//"), "/a/b");
  EXPECT_EQ(AbsolutePath(env, "/"), "/");
  EXPECT_EQ(AbsolutePath(env, "b"), AbsolutePath(env, "./b/"));
  EXPECT_EQ(AbsolutePath(env, "b"),
            std::filesystem::current_path().string() + "/b");
}

}  // namespace
}  // namespace rocksync
