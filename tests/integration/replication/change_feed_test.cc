// A feed of what peers change, over sessions and streams and real RocksDB.

#include "rocksync/change_feed.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rocksync/max_duration.h"
#include "tests/integration/replication/replica_fixture.h"

namespace rocksync {
namespace {

class ChangeFeedOfReplicas : public ReplicationTest {
 protected:
  void SetUp() override {
    a_ = NewReplica("a");
    b_ = NewReplica("b");
    ASSERT_TRUE(IsOk(b_->db()->Subscribe({}, &feed_)));
  }

  // Sessions and streams an hour apart, or only when asked.
  void StartBoth(ReplicatorOptions options) {
    ASSERT_TRUE(IsOk(b_->Start(options)));
    options.peers = {b_->address()};
    ASSERT_TRUE(IsOk(a_->Start(options)));
  }

  std::vector<FeedChange> Next() {
    std::vector<FeedChange> changes;
    uint64_t missed = 0;
    EXPECT_TRUE(IsOk(feed_->Next(milliseconds(60'000), &changes, &missed)));
    EXPECT_EQ(missed, 0u);
    return changes;
  }

  std::unique_ptr<TestReplica> a_;
  std::unique_ptr<TestReplica> b_;
  std::unique_ptr<ChangeFeed> feed_;
};

TEST_F(ChangeFeedOfReplicas, OfASession) {
  StartBoth(TestReplica::OnDemand());
  b_->Put("own", "not told");
  b_->Put("k", "old");
  // From here on the clock of a is ahead of these.
  ASSERT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address())));
  a_->Put("k", "new");
  a_->Put("fresh", "1");
  ASSERT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address())));
  std::map<std::string, FeedChange> changes;
  for (const FeedChange& change : Next()) changes[change.key] = change;
  ASSERT_EQ(changes.size(), 2u);
  const FeedChange& k = changes.at("k");
  EXPECT_EQ(k.family, "default");
  EXPECT_EQ(k.source, a_->id());
  EXPECT_EQ(k.version.replica, a_->id());
  EXPECT_TRUE(k.replaces);
  EXPECT_EQ(k.replaced_version.replica, b_->id());
  EXPECT_FALSE(changes.at("fresh").replaces);

  a_->Delete("k");
  ASSERT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address())));
  const std::vector<FeedChange> deleted = Next();
  ASSERT_EQ(deleted.size(), 1u);
  EXPECT_TRUE(deleted[0].tombstone);
  EXPECT_EQ(deleted[0].replaced_version.time, k.version.time);
}

TEST_F(ChangeFeedOfReplicas, OfAStreamWhatIsToldCanBeRead) {
  StartBoth(TestReplica::Hourly());
  a_->Put("k", "0");
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 1; !done; ++i) a_->Put("k", std::to_string(i));
  });
  uint64_t last = 0;
  for (int told = 0; told < 200;) {
    for (const FeedChange& change : Next()) {
      EXPECT_GT(change.version.time, last) << "in the order of a key's writes";
      EXPECT_TRUE(!change.replaces || change.replaced_version.time == last);
      last = change.version.time;
      ++told;
    }
    EXPECT_TRUE(b_->Scan().count("k"));
  }
  done = true;
  writer.join();
}

TEST_F(ChangeFeedOfReplicas, WhoDoesNotFetchHoldsNobodyUp) {
  std::unique_ptr<ChangeFeed> small;
  ASSERT_TRUE(IsOk(b_->db()->Subscribe({.buffer_bytes = 4096}, &small)));
  StartBoth(TestReplica::OnDemand());
  for (int i = 0; i < 1000; ++i) a_->Put(Numbered("k", i), "v");
  ASSERT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address())));
  std::vector<FeedChange> changes;
  uint64_t missed = 0;
  ASSERT_TRUE(IsOk(small->Next(milliseconds(0), &changes, &missed)));
  EXPECT_GT(changes.size(), 0u);
  EXPECT_EQ(changes.size() + missed, 1000u);
  EXPECT_EQ(Next().size(), 1000u) << "the other one has more room";
}

TEST_F(ChangeFeedOfReplicas, CloseEndsWhoWaits) {
  StartBoth(TestReplica::OnDemand());
  std::optional<rocksdb::Status> ended;
  std::thread waiting([&] {
    std::vector<FeedChange> changes;
    uint64_t missed = 0;
    ended = feed_->Next(kMaxDuration, &changes, &missed);
  });
  a_->Stop();
  b_->Stop();
  EXPECT_TRUE(IsOk(b_->TryClose()));
  waiting.join();
  EXPECT_TRUE(ended->IsAborted()) << ended->ToString();
  b_->DeleteDatabase();
  feed_.reset();
}

}  // namespace
}  // namespace rocksync
