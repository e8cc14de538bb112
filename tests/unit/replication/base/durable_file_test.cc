#include "replication/base/durable_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "rocksdb/env.h"
#include "tests/support/forgetful_disk.h"

namespace rocksync {
namespace {

constexpr char kDirectory[] = "/d";
constexpr char kName[] = "NAME";
constexpr int kLosses = 20;

// A disk with the directory, and in it the file with "old", all of it durable.
class DurableFileTest : public ::testing::Test {
 protected:
  static std::unique_ptr<rocksdb::Env> Mount(ForgetfulDisk* disk) {
    return rocksdb::NewCompositeEnv(disk->Mount());
  }

  static ForgetfulDisk WithOld() {
    ForgetfulDisk disk;
    const auto env = Mount(&disk);
    EXPECT_TRUE(env->CreateDir(kDirectory).ok());
    EXPECT_TRUE(ReplaceFile(env.get(), kDirectory, kName, "old").ok());
    return disk;
  }

  // "none": there is no such file.
  static std::string Content(ForgetfulDisk* disk) {
    const auto env = Mount(disk);
    const std::string path = std::string(kDirectory) + "/" + kName;
    if (env->FileExists(path).IsNotFound()) return "none";
    std::string content;
    EXPECT_TRUE(rocksdb::ReadFileToString(env.get(), path, &content).ok());
    return content;
  }

  using Change = std::function<rocksdb::Status(rocksdb::Env*)>;
  // The power goes after the first calls of `change`, none to all of them:
  // "old" or `after` is there, and once all took place, `after`.
  static void ExpectAllOrNothing(const Change& change,
                                 const std::string& after) {
    ForgetfulDisk measured = WithOld();
    const auto env = Mount(&measured);
    ASSERT_TRUE(change(env.get()).ok());
    const uint64_t calls = measured.calls();
    ASSERT_GE(calls, 2u);
    bool old_was_left = false;
    for (uint64_t lost_after = 0; lost_after <= calls; ++lost_after) {
      for (int seed = 0; seed < kLosses; ++seed) {
        ForgetfulDisk disk = WithOld();
        const auto doomed = Mount(&disk);
        disk.KillAfter(lost_after);
        ASSERT_TRUE(change(doomed.get()).ok());
        ASSERT_EQ(disk.killed(), lost_after < calls);
        disk.Kill();
        std::minstd_rand random(static_cast<unsigned>(seed) + 1);
        disk.LosePower([&](uint64_t n) { return random() % n; });
        const std::string content = Content(&disk);
        if (lost_after < calls && content == "old") {
          old_was_left = true;
          continue;
        }
        EXPECT_EQ(content, after) << "after " << lost_after << " of " << calls;
      }
    }
    EXPECT_TRUE(old_was_left);
  }
};

TEST_F(DurableFileTest, ReplacesAllOrNothing) {
  ExpectAllOrNothing(
      [](rocksdb::Env* env) {
        return ReplaceFile(env, kDirectory, kName, "a new content");
      },
      "a new content");
}

TEST_F(DurableFileTest, RemovesDurably) {
  ExpectAllOrNothing(
      [](rocksdb::Env* env) { return RemoveFile(env, kDirectory, kName); },
      "none");
}

TEST_F(DurableFileTest, MakesAFileThatWasNotThere) {
  ForgetfulDisk disk = WithOld();
  const auto env = Mount(&disk);
  ASSERT_TRUE(RemoveFile(env.get(), kDirectory, kName).ok());
  EXPECT_TRUE(RemoveFile(env.get(), kDirectory, kName).ok());
  ASSERT_TRUE(ReplaceFile(env.get(), kDirectory, kName, "made").ok());
  disk.Kill();
  disk.LosePower([](uint64_t) { return 0; });
  EXPECT_EQ(Content(&disk), "made");
}

// What an interrupted call left is longer than what comes next.
TEST_F(DurableFileTest, WritesOverADraft) {
  ForgetfulDisk disk = WithOld();
  const auto env = Mount(&disk);
  const std::string draft = std::string(kDirectory) + "/NAME.new";
  ASSERT_TRUE(
      rocksdb::WriteStringToFile(env.get(), "a long draft", draft).ok());
  ASSERT_TRUE(ReplaceFile(env.get(), kDirectory, kName, "new").ok());
  EXPECT_EQ(Content(&disk), "new");
}

TEST_F(DurableFileTest, AnErrorLeavesTheOldFile) {
  class NoRenames : public rocksdb::EnvWrapper {
   public:
    using EnvWrapper::EnvWrapper;
    const char* Name() const override { return "NoRenames"; }
    rocksdb::Status RenameFile(const std::string&,
                               const std::string&) override {
      return rocksdb::Status::IOError("no");
    }
  };
  ForgetfulDisk disk = WithOld();
  const auto env = Mount(&disk);
  NoRenames failing(env.get());
  EXPECT_TRUE(ReplaceFile(&failing, kDirectory, kName, "new").IsIOError());
  EXPECT_EQ(Content(&disk), "old");
  EXPECT_FALSE(ReplaceFile(env.get(), "/nowhere", kName, "new").ok());
}

}  // namespace
}  // namespace rocksync
