// rocksync clone: what it says of the copy, and what it leaves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "nlohmann/json.hpp"
#include "replication/store/format/clone_record.h"
#include "rocksync/replica_id.h"
#include "tests/integration/tools/tool_fixture.h"
#include "tools/clone.h"

namespace rocksync {
namespace {

using testing::HasSubstr;
using testing::Not;

using CloneToolTest = ToolTest;

// `rocksync clone` was killed after it had opened the copy.
TEST_F(CloneToolTest, ACloneThatWasOpenedIsProvenByTheNextRun) {
  const auto a = NewReplica("a");
  ASSERT_TRUE(IsOk(a->Start()));
  a->Put("k", "v");
  CloneToolOptions options;
  options.source = a->address();
  options.directory = directory_ / "clone";
  options.credentials = TestCredentials();
  ASSERT_EQ(RunClone(options, out_, err_), 0) << err_.str();
  const auto clone = NewReplica("clone");
  const uint64_t id = clone->id();
  clone->Close();
  a->Put("later", "v");

  out_.str("");
  EXPECT_EQ(RunClone(options, out_, err_), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr(ReplicaIdHex(id) + " already"));
  EXPECT_THAT(out_.str(), HasSubstr("proven equal to its source"));
  options.json = true;
  out_.str("");
  EXPECT_EQ(RunClone(options, out_, err_), 0) << err_.str();
  const auto told = nlohmann::json::parse(out_.str());
  EXPECT_FALSE(told.contains("source_id")) << "the replica does not know it";
  EXPECT_EQ(told["replica_id"], ReplicaIdHex(id));
  options.json = false;

  // A replica of another id is left alone.
  const auto other = NewReplica("other");
  other->Close();
  options.directory = directory_ / "other";
  UseCertificateOf(id, &options.credentials);
  EXPECT_EQ(RunClone(options, out_, err_), 2);
  EXPECT_THAT(err_.str(), HasSubstr("there is a database in"));
  EXPECT_THAT(err_.str(), Not(HasSubstr("remove"))) << "it is no clone";
  options.directory = directory_ / "certificates";
  err_.str("");
  EXPECT_EQ(RunClone(options, out_, err_), 2);
  EXPECT_THAT(err_.str(), HasSubstr("is not empty"));
  EXPECT_THAT(err_.str(), Not(HasSubstr("remove")));
}

// A certificate does not say whose it is, so the first run says what becomes of
// its id; what a program reads stays as it is.
TEST_F(CloneToolTest, ACloneWarnsOfTheIdThatItsCertificateNames) {
  const auto a = NewReplica("a");
  ASSERT_TRUE(IsOk(a->Start()));
  a->Put("k", "v");
  CloneToolOptions options;
  options.source = a->address();
  options.directory = directory_ / "of_a_trial";
  options.json = true;
  options.credentials = TestCredentials();
  ASSERT_EQ(RunClone(options, out_, err_), 0) << err_.str();
  EXPECT_EQ(err_.str(), "") << "its certificate was made for it";

  options.directory = directory_ / "of_op";
  const std::string op = UseCertificateOf(0x0be7a, &options.credentials);
  out_.str("");
  ASSERT_EQ(RunClone(options, out_, err_), 0) << err_.str();
  EXPECT_THAT(err_.str(),
              HasSubstr("warning: " + options.directory +
                        " becomes replica 000000000000be7a, as " + op +
                        " names it; if that is an "
                        "operator's certificate, stop"));
  EXPECT_EQ(nlohmann::json::parse(out_.str())["replica_id"],
            "000000000000be7a");

  err_.str("");
  ASSERT_EQ(RunClone(options, out_, err_), 0) << err_.str();
  EXPECT_EQ(err_.str(), "") << "it is that replica";
}

// Whoever began it may have given another certificate, or have used another
// program, which does not warn.
TEST_F(CloneToolTest, ACloneThatGoesOnWarnsToo) {
  const auto a = NewReplica("a");
  ASSERT_TRUE(IsOk(a->Start()));
  a->Put("k", "v");
  for (const uint64_t begun_as : {uint64_t{0xbe7b}, uint64_t{0xbe7c}}) {
    CloneToolOptions options;
    options.source = a->address();
    options.directory = directory_ / ReplicaIdHex(begun_as);
    options.credentials = TestCredentials();
    std::filesystem::create_directories(options.directory);
    rocksdb::Env* const env = rocksdb::Env::Default();
    ASSERT_TRUE(IsOk(MarkUnfinished(env, options.directory)));
    ASSERT_TRUE(IsOk(
        WriteCloneRecord(env, options.directory, {.replica_id = begun_as})));
    UseCertificateOf(0xbe7b, &options.credentials);
    err_.str("");
    RunClone(options, out_, err_);
    EXPECT_THAT(err_.str(), HasSubstr("becomes replica 000000000000be7b"));
  }
}

TEST_F(CloneToolTest, ACloneThatCopiedNothingLeavesNothing) {
  CloneToolOptions options;
  options.source = "127.0.0.1:1";
  options.credentials = TestCredentials();
  UseCertificateOf(0xbe7a, &options.credentials);
  options.directory = directory_ / "new";
  EXPECT_EQ(RunClone(options, out_, err_), 2);
  EXPECT_FALSE(std::filesystem::exists(options.directory));
  options.directory = directory_ / "empty";
  std::filesystem::create_directories(options.directory);
  EXPECT_EQ(RunClone(options, out_, err_), 2);
  EXPECT_TRUE(std::filesystem::is_empty(options.directory));
}

}  // namespace
}  // namespace rocksync
