// `rocksync resync` on real replicas.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "nlohmann/json.hpp"
#include "rocksync/replica_id.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tools/resync.h"

namespace rocksync {
namespace {

using testing::HasSubstr;

class ResyncToolTest : public ReplicationTest {
 protected:
  ResyncToolTest() : source_(NewReplica("source")) {
    EXPECT_TRUE(IsOk(source_->Start()));
    options_.source = source_->address();
    options_.directory = directory_ / "old";
    options_.credentials.cluster = "test";
    options_.credentials.trial_directory = directory_ / "certificates";
    std::ofstream(options_.credentials.trial_directory + "/trial-secret",
                  std::ios::binary)
        << std::string(32, '\7');
  }
  int Run() {
    out_.str("");
    err_.str("");
    return RunResync(options_, out_, err_);
  }

  const std::unique_ptr<TestReplica> source_;
  ResyncToolOptions options_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ResyncToolTest, SaysWhatBecameOfTheReplica) {
  const auto old = NewReplica("old");
  const std::string id = ReplicaIdHex(old->id());
  old->Put("alone", "1");
  source_->Put("k", "v");
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("is in use"));
  old->Close();

  ASSERT_EQ(Run(), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("is replica " + id + " still"));
  EXPECT_THAT(out_.str(), HasSubstr("1 pairs or deletes that only it had"));
  EXPECT_THAT(out_.str(), HasSubstr("proven equal to its source"));
  EXPECT_EQ(source_->Scan(), (Contents{{"alone", "1"}, {"k", "v"}}));

  options_.json = true;
  options_.copy_from_share = 0;
  ASSERT_EQ(Run(), 0) << err_.str();
  const auto told = nlohmann::json::parse(out_.str());
  EXPECT_EQ(told["replica_id"], id);
  EXPECT_EQ(told["source_id"], ReplicaIdHex(source_->id()));
  EXPECT_EQ(told["carried_over"], 0);
  EXPECT_EQ(told["proven_equal"], true);
  options_.json = false;
  options_.copy_from_share = 0.5;
  ASSERT_EQ(Run(), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("little was missing"));
  EXPECT_THAT(out_.str(), HasSubstr("proven equal to its source"));
  ASSERT_TRUE(old->Open());
  EXPECT_EQ(old->Scan(), source_->Scan());
}

TEST_F(ResyncToolTest, SaysWhyItIsNotProven) {
  const auto old = NewReplica("old");
  old->Close();
  // It serves files, and no sessions.
  source_->replicator()->Pause();
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("the source is paused"));
  source_->replicator()->Resume();
  ASSERT_EQ(Run(), 0) << err_.str();
}

TEST_F(ResyncToolTest, OfNothingAndOfAPlainDatabase) {
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(err_.str(), HasSubstr(options_.directory));
  EXPECT_FALSE(std::filesystem::exists(options_.directory));
}

}  // namespace
}  // namespace rocksync
