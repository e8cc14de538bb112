// A replica that is killed with -9 in the middle of a heal comes back and
// heals; nothing acknowledged is lost.

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "examples/demo/cluster.h"
#include "examples/demo/comparison.h"
#include "examples/demo/redis_client.h"
#include "examples/demo/workload.h"
#include "gtest/gtest.h"
#include "rocksdb/db.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::steady_clock;

constexpr uint64_t kKeys = 20'000;

class KillTest : public ::testing::Test {
 protected:
  KillTest() {
    cluster_ = std::make_unique<Cluster>(STORE, directory_.path(), 2);
  }
  ~KillTest() override {
    cluster_.reset();
    if (HasFailure()) directory_.Keep();
  }

  void Do(size_t i, const std::vector<std::string>& words) {
    std::unique_ptr<RedisClient> client;
    Status status = RedisClient::Connect(cluster_->redis_port(i), &client);
    if (status.ok()) status = client->Call(words);
    ASSERT_TRUE(status.ok()) << words[0] << ": " << status.ToString();
  }

  // Keys [begin, end) on replica `i`, acknowledged.
  void Write(size_t i, uint64_t begin, uint64_t end) {
    std::unique_ptr<RedisClient> client;
    ASSERT_TRUE(RedisClient::Connect(cluster_->redis_port(i), &client).ok());
    std::mt19937_64 random(begin);
    for (uint64_t k = begin; k < end; ++k) {
      ASSERT_TRUE(
          client->Queue({"SET", KeyName(k), RandomValue(&random)}).ok());
    }
    ASSERT_TRUE(client->Flush().ok());
  }

  uint64_t PairsApplied(size_t i) {
    std::unique_ptr<RedisClient> client;
    RedisClient::Fields fields;
    if (!RedisClient::Connect(cluster_->redis_port(i), &client).ok() ||
        !client->ReplicationInfo(&fields).ok()) {
      return 0;
    }
    return std::strtoull(fields["pairs_applied"].c_str(), nullptr, 10);
  }

  // Syncs until proven equal, and compares by scan.
  void ExpectEqualInTheEnd(uint64_t keys) {
    const auto deadline = steady_clock::now() + minutes(2);
    Status status = Status::Aborted();
    while (!status.ok() && steady_clock::now() < deadline) {
      std::unique_ptr<RedisClient> client;
      status = RedisClient::Connect(cluster_->redis_port(1), &client);
      if (status.ok()) {
        status = client->Call({"REPLICATION", "SYNC", cluster_->address(0)});
      }
      std::this_thread::sleep_for(milliseconds(50));
    }
    ASSERT_TRUE(status.ok()) << status.ToString();
    status = cluster_->Stop();
    ASSERT_TRUE(status.ok()) << status.ToString();
    std::vector<std::unique_ptr<rocksdb::DB>> views(2);
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(OpenView(cluster_->directory(i), &views[i]).ok());
    }
    ScanComparison found;
    ASSERT_TRUE(Compare(views, views, &found).ok());
    EXPECT_TRUE(found.equal) << found.first_difference;
    EXPECT_EQ(found.keys, keys);
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(KillTest, MidHeal) {
  const Status status = cluster_->Start(/*sync_interval_ms=*/0);
  ASSERT_TRUE(status.ok()) << status.ToString();
  Write(0, 0, kKeys);
  Write(1, kKeys, 2 * kKeys);

  // The one that receives, then the one that sends; each time when some of the
  // pairs are there and others are not.
  for (const size_t victim : {size_t{1}, size_t{0}}) {
    std::thread sync([&] {
      std::unique_ptr<RedisClient> client;
      if (!RedisClient::Connect(cluster_->redis_port(1), &client).ok()) return;
      // Fails when the victim goes.
      (void)client->Call({"REPLICATION", "SYNC", cluster_->address(0)});
    });
    const uint64_t at_first = PairsApplied(1);
    const auto deadline = steady_clock::now() + minutes(1);
    while (PairsApplied(1) < at_first + 500 && steady_clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    cluster_->Kill(victim);
    sync.join();
    const Status restarted = cluster_->StartReplica(victim);
    ASSERT_TRUE(restarted.ok()) << restarted.ToString();
  }
  ExpectEqualInTheEnd(2 * kKeys);
}

// Killed while it takes writes, again and again: what was acknowledged is
// there, and both become equal.
TEST_F(KillTest, UnderWrites) {
  const Status status = cluster_->Start(/*sync_interval_ms=*/100);
  ASSERT_TRUE(status.ok()) << status.ToString();
  uint64_t keys = 0;
  for (int round = 0; round < 5; ++round) {
    Write(0, keys, keys + 1000);
    Write(1, keys + 1000, keys + 2000);
    keys += 2000;
    const size_t victim = static_cast<size_t>(round) % 2;
    cluster_->Kill(victim);
    Write(1 - victim, keys, keys + 500);
    keys += 500;
    const Status restarted = cluster_->StartReplica(victim);
    ASSERT_TRUE(restarted.ok()) << restarted.ToString();
  }
  ExpectEqualInTheEnd(keys);
}

}  // namespace
}  // namespace rocksync
