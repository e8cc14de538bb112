// kill -9 under load: what was acknowledged is there, and index equals data.

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "tests/integration/store/store_fixture.h"

extern char** environ;

namespace rocksync {
namespace {

class CrashTest : public StoreTest {
 protected:
  // Runs the child for a while and kills it. Returns the number of the last
  // acknowledged write of each thread.
  std::map<char, uint64_t> RunAndKill(const std::string& mode, int round,
                                      int run_ms) {
    int pipe_ends[2];
    EXPECT_EQ(pipe(pipe_ends), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
    std::string program = ROCKSYNC_CRASH_CHILD;
    std::string directory = Dir();
    std::string number = std::to_string(round);
    std::string chosen = mode;
    char* args[] = {program.data(), chosen.data(), directory.data(),
                    number.data(), nullptr};
    pid_t child = 0;
    EXPECT_EQ(
        posix_spawn(&child, program.c_str(), &actions, nullptr, args, environ),
        0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);

    std::map<char, uint64_t> acknowledged;
    std::thread killer;
    char bytes[9];
    size_t have = 0;
    while (true) {
      const ssize_t got =
          read(pipe_ends[0], bytes + have, sizeof(bytes) - have);
      if (got <= 0) break;
      have += static_cast<size_t>(got);
      if (have < sizeof(bytes)) continue;
      have = 0;
      uint64_t value = 0;
      std::memcpy(&value, bytes + 1, 8);
      acknowledged[bytes[0]] = value;
      // The clock starts with the first write.
      if (!killer.joinable()) {
        killer = std::thread([child, run_ms] {
          std::this_thread::sleep_for(std::chrono::milliseconds(run_ms));
          kill(child, SIGKILL);
        });
      }
    }
    close(pipe_ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "exit " << WEXITSTATUS(status);
    if (killer.joinable()) killer.join();
    return acknowledged;
  }

  void ExpectAcknowledged(const std::map<char, uint64_t>& acknowledged,
                          int round) {
    for (const auto& [thread, last] : acknowledged) {
      const std::string prefix = "r" + std::to_string(round) + "." + thread;
      for (uint64_t i = 0; i <= last; ++i) {
        const uint64_t deleter = i + 5;
        const std::string key = prefix + std::to_string(i);
        if (deleter % 10 == 0 && deleter <= last) {
          EXPECT_EQ(Get(key), "-") << key;
        } else if (deleter % 10 != 0 || deleter > last + 1) {
          EXPECT_EQ(Get(key), key + std::string(i % 300, 'v')) << key;
        }
      }
    }
  }
};

TEST_F(CrashTest, KilledUnderLoad) {
  std::mt19937 random(5);
  for (int round = 0; round < 10; ++round) {
    const auto acknowledged = RunAndKill("load", round, 20 + random() % 300);
    ASSERT_EQ(acknowledged.empty(), false);
    // As it lies there, before anybody opens it for writing.
    ASSERT_TRUE(IndexEqualsData(Dir(), replication_.cluster_secret));
    ASSERT_ROCKS_OK(Open());
    EXPECT_TRUE(db_->GetIndexBuildProgress().done)
        << "only our own batches were there";
    ExpectAcknowledged(acknowledged, round);
    if (round % 2 == 0) CloseAndCheck();
    db_.reset();
    if (std::filesystem::exists(Dir() + ".checkpoint/CURRENT")) {
      EXPECT_TRUE(
          IndexEqualsData(Dir() + ".checkpoint", replication_.cluster_secret));
    }
  }
}

TEST_F(CrashTest, AdoptionGoesOnAfterKills) {
  constexpr int kPairs = 60000;
  Plain("db", [](rocksdb::DB* db) {
    for (int i = 0; i < kPairs; ++i) {
      ASSERT_ROCKS_OK(
          db->Put({}, "key" + std::to_string(i), std::to_string(i)));
    }
  });
  std::map<int, std::map<char, uint64_t>> acknowledged;
  for (int round = 0; round < 4; ++round) {
    acknowledged[round] = RunAndKill("adopt", round, 30);
  }
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(120000));
  EXPECT_LE(db_->GetIndexBuildProgress().pairs_read, kPairs * 2u);
  for (const auto& [round, last] : acknowledged) {
    ExpectAcknowledged(last, round);
  }
  for (int i = 0; i < kPairs; i += 997) {
    EXPECT_EQ(Get("key" + std::to_string(i)), std::to_string(i));
  }
  ScanResult result;
  CloseAndCheck(&result);
  EXPECT_GE(result.pairs, static_cast<uint64_t>(kPairs));
}

// Somebody opens the database plainly after a crash and writes: found without
// a seal. A compaction into the last level takes the sequence number that says
// so, and then the pair is quarantined; here none runs.
TEST_F(CrashTest, ForeignWritesAfterACrashAreNoticed) {
  options_.disable_auto_compactions = true;
  RunAndKill("load", 0, 100);
  Plain("db", [](rocksdb::DB* db) {
    ASSERT_ROCKS_OK(db->Put({}, "foreign", "value"));
    ASSERT_ROCKS_OK(db->Put({}, "r0.a0", "overwritten"));
  });
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 0u);
  EXPECT_EQ(Get("r0.a0"), "overwritten");
  ScanResult result;
  CloseAndCheck(&result);
  EXPECT_EQ(result.quarantined, 0u);
}

}  // namespace
}  // namespace rocksync
