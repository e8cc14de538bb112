// A replica whose clock jumped ahead: its versions are held back by its peers
// and named; restamped under the corrected clock they are accepted.

#include "tools/restamp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/integration/replication/replica_fixture.h"
#include "tests/integration/store/index_equals_data.h"
#include "tests/support/wrong_clock.h"

namespace rocksync {
namespace {

using testing::HasSubstr;

class RestampTest : public ReplicationTest {
 protected:
  void SetUp() override {
    TestReplica::Setting setting = SettingOf("a");
    setting.adjust = [this](rocksdb::Options* options, ReplicatedDBOptions*) {
      options->env = &clock_;
    };
    a_ = std::make_unique<TestReplica>(setting);
    ASSERT_TRUE(a_->Open()) << a_->open_status().ToString();
    b_ = NewReplica("b");
    ASSERT_TRUE(IsOk(a_->Start()));
    ASSERT_TRUE(IsOk(b_->Start()));
    for (int i = 0; i < 100; ++i) a_->Put("k" + std::to_string(i), "value");
    ASSERT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address())));
    std::ofstream(directory_ / "certificates/trial-secret", std::ios::binary)
        << std::string(32, '\7');
  }

  int Restamp() {
    RestampToolOptions options;
    options.directory = a_->setting().directory;
    options.credentials.cluster = "test";
    options.credentials.trial_directory = directory_ / "certificates";
    out_.str("");
    err_.str("");
    return RunRestamp(options, out_, err_);
  }

  ClusterSecret Secret() const {
    ClusterSecret secret;
    secret.fill(7);
    return secret;
  }

  WrongClock clock_;
  std::unique_ptr<TestReplica> a_;
  std::unique_ptr<TestReplica> b_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(RestampTest, HeldBackAndThenHealed) {
  clock_.ahead_ms = 3'600'000;
  a_->Put("new", "written an hour ahead");
  a_->Put("k1", "rewritten");
  a_->Delete("k2");
  const Contents contents = a_->Scan();
  const rocksdb::Status held = b_->replicator()->SyncNow(a_->address());
  EXPECT_TRUE(held.IsIncomplete()) << held.ToString();
  EXPECT_TRUE(Mentions(held, "3 too far in the future"));
  const IndexStats stats = b_->db()->GetIndexStats();
  EXPECT_EQ(stats.held_back_replica, a_->id());
  EXPECT_NE(b_->Scan(), contents);

  // The clock is corrected. What was written stays an hour ahead.
  clock_.ahead_ms = 0;
  EXPECT_TRUE(b_->replicator()->SyncNow(a_->address()).IsIncomplete());
  a_->Stop();
  EXPECT_EQ(Restamp(), 2) << "it is open";
  a_->Close();
  ASSERT_EQ(Restamp(), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("3 of 101 pairs and tombstones restamped"));
  EXPECT_THAT(out_.str(), HasSubstr("s ahead"));
  EXPECT_TRUE(IndexEqualsData(a_->setting().directory, Secret()));
  ASSERT_EQ(Restamp(), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("0 of 101")) << "once is enough";
  EXPECT_THAT(out_.str(), HasSubstr("is more than 60 s ahead of this "
                                    "computer's clock, 20"));

  ASSERT_TRUE(a_->Open()) << a_->open_status().ToString();
  EXPECT_TRUE(a_->db()->GetIndexBuildProgress().done) << "nobody else wrote";
  ASSERT_TRUE(IsOk(a_->Start()));
  ASSERT_TRUE(IsOk(b_->replicator()->SyncNow(a_->address())));
  EXPECT_EQ(a_->Scan(), contents);
  EXPECT_EQ(b_->Scan(), contents);
  // And its next writes are accepted too.
  a_->Put("after", "x");
  ASSERT_TRUE(IsOk(b_->replicator()->SyncNow(a_->address())));
  EXPECT_EQ(b_->Scan().at("after"), "x");
}

// What the peer wrote meanwhile is later than what was restamped only if it was
// written later than the restamp.
TEST_F(RestampTest, ThePeersLaterWriteWins) {
  clock_.ahead_ms = 3'600'000;
  a_->Put("k1", "an hour ahead");
  clock_.ahead_ms = 0;
  a_->Stop();
  a_->Close();
  ASSERT_EQ(Restamp(), 0) << err_.str();
  b_->Put("k1", "later there");
  ASSERT_TRUE(a_->Open());
  ASSERT_TRUE(IsOk(a_->Start()));
  ASSERT_TRUE(IsOk(b_->replicator()->SyncNow(a_->address())));
  EXPECT_EQ(a_->Scan().at("k1"), "later there");
  EXPECT_EQ(b_->Scan().at("k1"), "later there");
}

TEST_F(RestampTest, ATableThatIsMissingIsNamed) {
  ASSERT_TRUE(IsOk(a_->db()->Flush({})));
  a_->Stop();
  a_->Close();
  std::string table;
  for (const auto& file :
       std::filesystem::directory_iterator(a_->setting().directory)) {
    if (file.path().extension() == ".sst") table = file.path();
  }
  ASSERT_TRUE(std::filesystem::remove(table));
  EXPECT_EQ(Restamp(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("has lost a table, "));
}

TEST_F(RestampTest, NothingToDo) {
  a_->Stop();
  a_->Close();
  ASSERT_EQ(Restamp(), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              HasSubstr("0 of 100 pairs and tombstones restamped; no version"));
  RestampToolOptions options;
  options.directory = directory_ / "nowhere";
  options.credentials.trial_directory = directory_ / "certificates";
  EXPECT_EQ(RunRestamp(options, out_, err_), 2);
}

}  // namespace
}  // namespace rocksync
