// rocksync verify, against running replicas over TLS and offline databases.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "replication/admin/admin_client.h"
#include "replication/store/store_access.h"
#include "replication/store/write/indexed_db.h"
#include "tests/integration/tools/tool_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/open_plain.h"
#include "tools/status.h"
#include "tools/verify.h"

namespace rocksync {
namespace {

using testing::HasSubstr;

class VerifyToolTest : public ToolTest {
 protected:
  int Verify(const std::string& left, const std::string& right,
             bool json = false, uint64_t max_keys = 100) {
    VerifyToolOptions options;
    options.left = left;
    options.right = right;
    options.credentials = TestCredentials();
    options.credentials.peer_timeout_ms = peer_timeout_ms_;
    options.wait_ms = wait_ms_;
    options.json = json;
    options.max_keys = max_keys;
    out_.str("");
    err_.str("");
    return RunVerify(options, out_, err_);
  }

  std::vector<std::string> Lines() {
    std::vector<std::string> lines;
    std::istringstream in(out_.str());
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  uint64_t wait_ms_ = 0;
  uint64_t peer_timeout_ms_ = 30'000;
};

TEST_F(VerifyToolTest, TwoRunningReplicas) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  for (int i = 0; i < 100; ++i) a->Put("k" + std::to_string(i), "value");
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  EXPECT_EQ(Verify(a->address(), b->address()), kVerifyEqual) << err_.str();
  EXPECT_EQ(out_.str(), "equal: 100 pairs and tombstones\n");

  a->Put("left", "x");
  b->Put(std::string("\x01", 1), "x");
  b->Delete("k1");
  EXPECT_EQ(Verify(a->address(), b->address()), kVerifyDifferent);
  std::vector<std::string> lines = Lines();
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines,
            (std::vector<std::string>{"! default k1", "< default left",
                                      "> default 0x01", "different: 3 keys"}));

  EXPECT_EQ(Verify(a->address(), b->address(), true), kVerifyDifferent);
  lines = Lines();
  ASSERT_EQ(lines.size(), 4u);
  std::sort(lines.begin(), lines.end() - 1);
  const auto mine = nlohmann::json::parse(lines[1]);
  EXPECT_EQ(mine["difference"], "missing_there");
  EXPECT_EQ(mine["key"], "left");
  EXPECT_EQ(mine["key_hex"], "6c656674");
  const auto result = nlohmann::json::parse(lines.back());
  EXPECT_EQ(result["equal"], false);
  EXPECT_EQ(result["complete"], true);
  EXPECT_EQ(result["differences"], 3);

  EXPECT_EQ(Verify(a->address(), b->address(), false, 2), kVerifyDifferent);
  EXPECT_THAT(out_.str(), HasSubstr("different: at least 2 keys"));
}

// It shows meanwhile that it works.
TEST_F(VerifyToolTest, AReplicaThatComparesForLongIsNotGivenUp) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start(TestReplica::OnDemand())));
  ASSERT_TRUE(IsOk(b->Start(TestReplica::OnDemand())));
  a->Put("left", "x");
  peer_timeout_ms_ = 1500;
  wait_ms_ = 3000;
  EXPECT_EQ(Verify(a->address(), b->address()), kVerifyDifferent) << err_.str();
}

// Else it would keep a thread and a place among the connections for its wait.
class AskerTest : public VerifyToolTest,
                  public ::testing::WithParamInterface<bool> {};

TEST_P(AskerTest, ThatIsGoneOrFrozenIsComparedForNoMore) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ReplicatorOptions options = TestReplica::OnDemand();
  options.max_accepted = 1;
  if (GetParam()) options.io_timeout = milliseconds(2000);
  ASSERT_TRUE(IsOk(a->Start(options)));
  ASSERT_TRUE(IsOk(b->Start(TestReplica::OnDemand())));
  a->Put("left", "x");
  AdminTarget target;
  ASSERT_TRUE(IsOk(MakeTarget(TestCredentials(), &target)));
  target.address = a->address();
  Request request;
  request.kind = Request::Kind::kVerify;
  request.peer = b->address();
  request.max_keys = 10;
  request.wait_ms = 3'600'000;
  std::unique_ptr<AdminClient> asker;
  ASSERT_TRUE(IsOk(AdminClient::Open(target, request, &asker)));
  EXPECT_NE(Verify(a->address(), b->address()), kVerifyDifferent);
  const bool frozen = GetParam();
  if (!frozen) asker.reset();
  EXPECT_TRUE(Eventually([&] {
    return Verify(a->address(), b->address()) == kVerifyDifferent;
  })) << err_.str();
}

INSTANTIATE_TEST_SUITE_P(GoneOrFrozen, AskerTest, ::testing::Bool());

// In no set, so nobody can say that they are equal: running or offline.
TEST_F(VerifyToolTest, QuarantinedPairsAreNotCalledEqual) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  a->Put("fine", "value");
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  a->Put("mine alone", "value");
  ASSERT_TRUE(IsOk(
      StoreAccess::IndexedOf(a->db())->db()->Put({}, "mine alone", "valuf")));
  ASSERT_TRUE(IsOk(a->replicator()->ScrubNow()));
  EXPECT_EQ(Verify(a->address(), b->address()), kVerifyError);
  EXPECT_THAT(err_.str(), HasSubstr("1 here, 0 at the peer"));
  EXPECT_EQ(Verify(b->address(), a->address()), kVerifyError);
  EXPECT_THAT(err_.str(), HasSubstr("0 here, 1 at the peer"));
  StatusToolOptions options;
  options.replica = a->address();
  options.credentials = TestCredentials();
  options.json = true;
  out_.str("");
  ASSERT_EQ(RunStatus(options, out_, err_), 0) << err_.str();
  EXPECT_EQ(nlohmann::json::parse(out_.str())["quarantined_now"], 1);

  for (TestReplica* replica : {a.get(), b.get()}) {
    replica->Stop();
    replica->Close();
  }
  EXPECT_EQ(Verify(a->setting().directory, b->setting().directory),
            kVerifyError);
  EXPECT_THAT(err_.str(), HasSubstr("1 here, 0 at the peer"));
}

TEST_F(VerifyToolTest, OneOfflineAgainstOneRunning) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  for (int i = 0; i < 100; ++i) a->Put("k" + std::to_string(i), "value");
  a->Delete("k5");
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  a->Stop();
  const std::string directory = a->setting().directory;
  EXPECT_EQ(Verify(directory, b->address()), kVerifyError)
      << "the database is open";
  EXPECT_THAT(err_.str(), HasSubstr("is in use"));
  a->Close();
  EXPECT_EQ(Verify(directory, b->address()), kVerifyEqual) << err_.str();
  EXPECT_EQ(out_.str(), "equal: 100 pairs and tombstones\n");
  b->Put("k7", "later");
  EXPECT_EQ(Verify(directory, b->address()), kVerifyDifferent);
  EXPECT_EQ(Lines().front(), "! default k7");
  wait_ms_ = 700;  // two looks more
  EXPECT_EQ(Verify(directory, b->address()), kVerifyDifferent) << err_.str();
  EXPECT_EQ(Lines().front(), "! default k7");
  ASSERT_TRUE(a->Open()) << "and it was not changed by that";
  EXPECT_TRUE(a->db()->GetIndexBuildProgress().done);
}

TEST_F(VerifyToolTest, TwoOffline) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  a->Put("left", "x");
  b->Put("right", "x");
  a->Close();
  b->Close();
  const std::string left = a->setting().directory;
  const std::string right = b->setting().directory;
  EXPECT_EQ(Verify(left, left), kVerifyError) << "it is open, by ourselves";
  EXPECT_EQ(Verify(left, right), kVerifyDifferent) << err_.str();
  std::vector<std::string> lines = Lines();
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines,
            (std::vector<std::string>{"< default left", "> default right",
                                      "different: 2 keys"}));
}

TEST_F(VerifyToolTest, WhoDoesNotKnowTheSecretLearnsNothing) {
  const auto a = NewReplica("a");
  ASSERT_TRUE(IsOk(a->Start()));
  StatusToolOptions options;
  options.replica = a->address();
  options.credentials = TestCredentials(8);
  EXPECT_EQ(RunStatus(options, out_, err_), 2);
  EXPECT_THAT(err_.str(), HasSubstr("secret differs"));
  EXPECT_EQ(out_.str(), "");
  options.credentials = TestCredentials();
  options.credentials.cluster = "another";
  EXPECT_EQ(RunStatus(options, out_, err_), 2);
  EXPECT_THAT(err_.str(), HasSubstr("the one that dials names \"another\""));
  EXPECT_THAT(err_.str(), HasSubstr("it dialed belongs to \"test\""));
}

TEST_F(VerifyToolTest, Errors) {
  const auto a = NewReplica("a");
  ASSERT_TRUE(IsOk(a->Start()));
  EXPECT_EQ(Verify(a->address(), "127.0.0.1:1"), kVerifyError);
  EXPECT_THAT(err_.str(), HasSubstr("127.0.0.1:1"));
  EXPECT_THAT(err_.str(), HasSubstr("IO error: the replica at " + a->address() +
                                    " says: "));
  EXPECT_EQ(Verify("127.0.0.1:1", a->address()), kVerifyError);
  EXPECT_EQ(Verify(a->address(), a->address()), kVerifyError);
  EXPECT_THAT(err_.str(), HasSubstr("Invalid argument: the replica at " +
                                    a->address() + " says: "));
  EXPECT_THAT(err_.str(), HasSubstr("name another one"));
}

// A mistyped directory is not taken for an address.
TEST_F(VerifyToolTest, NeitherADirectoryNorAnAddress) {
  const auto a = NewReplica("a");
  ASSERT_TRUE(IsOk(a->Start()));
  const std::string directory = a->setting().directory;
  EXPECT_EQ(Verify(directory + "x", a->address()), kVerifyError);
  EXPECT_THAT(
      err_.str(),
      HasSubstr(directory + "x\": is neither a directory nor host:port"));
  EXPECT_EQ(Verify(a->address(), "nodirr"), kVerifyError);
  EXPECT_THAT(err_.str(),
              HasSubstr("\"nodirr\": is neither a directory nor host:port"));
  EXPECT_EQ(Verify(a->address(), directory), kVerifyError);
  EXPECT_THAT(err_.str(), HasSubstr("give it first"));
  a->Stop();
  a->Close();
  EXPECT_EQ(Verify(directory, "nodirr"), kVerifyError);
  EXPECT_THAT(err_.str(),
              HasSubstr("\"nodirr\": is neither a directory nor host:port"));
}

TEST_F(VerifyToolTest, WhatIsMissingIsNamedAsTheCommandNamesIt) {
  const auto a = NewReplica("a");
  ASSERT_TRUE(IsOk(a->Start()));
  StatusToolOptions options;
  options.replica = a->address();
  options.credentials = TestCredentials();
  options.credentials.secret_file =
      options.credentials.trial_directory + "/trial-secret";
  options.credentials.trial_directory.clear();
  EXPECT_EQ(RunStatus(options, out_, err_), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--ca, --certificate and --private-key"));
}

// A trial's directory that a program of one's own made has no secret in it.
TEST_F(VerifyToolTest, TheSecretThatIsGivenCounts) {
  const auto a = NewReplica("a");
  ASSERT_TRUE(IsOk(a->Start()));
  StatusToolOptions options;
  options.replica = a->address();
  options.credentials = TestCredentials(/*secret=*/8);
  options.credentials.secret_file = directory_ / "secret";
  std::ofstream(options.credentials.secret_file, std::ios::binary)
      << std::string(32, '\7');
  EXPECT_EQ(RunStatus(options, out_, err_), 0) << err_.str();
  const std::string of_trial =
      options.credentials.trial_directory + "/trial-secret";
  std::filesystem::remove(of_trial);
  EXPECT_EQ(RunStatus(options, out_, err_), 0) << err_.str();
  options.credentials.secret_file.clear();
  EXPECT_EQ(RunStatus(options, out_, err_), 2);
  EXPECT_THAT(err_.str(), HasSubstr(of_trial + " is not there"));
  EXPECT_THAT(err_.str(), HasSubstr("--secret FILE"));
}

// A new CA in a mistyped directory would be of no use, and would stay there.
TEST_F(VerifyToolTest, AMistypedTrialDirectoryIsNotMade) {
  const auto a = NewReplica("a");
  ASSERT_TRUE(IsOk(a->Start()));
  StatusToolOptions options;
  options.replica = a->address();
  options.credentials = TestCredentials();
  options.credentials.secret_file =
      options.credentials.trial_directory + "/trial-secret";
  const std::string typo = directory_ / "typo";
  options.credentials.trial_directory = typo;
  EXPECT_EQ(RunStatus(options, out_, err_), 2);
  EXPECT_THAT(err_.str(),
              HasSubstr(typo + " holds no trial-ca.pem: give the directory "
                               "that the replicas use"));
  EXPECT_FALSE(std::filesystem::exists(typo));
  // Nor is its secret missed first.
  options.credentials.secret_file.clear();
  err_.str("");
  EXPECT_EQ(RunStatus(options, out_, err_), 2);
  EXPECT_THAT(err_.str(), HasSubstr(typo + " holds no trial-ca.pem"));
  a->Stop();
  a->Close();
  VerifyToolOptions verify;
  verify.left = a->setting().directory;
  verify.right = "127.0.0.1:1";
  verify.credentials = options.credentials;
  err_.str("");
  EXPECT_EQ(RunVerify(verify, out_, err_), kVerifyError);
  EXPECT_THAT(err_.str(), HasSubstr(typo + " holds no trial-ca.pem"));
}

TEST_F(VerifyToolTest, WhichOfTwoDirectoriesWasWrittenToIsSaid) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  a->Close();
  b->Close();
  const std::string left = a->setting().directory;
  const std::string right = b->setting().directory;
  ASSERT_TRUE(IsOk(PutByPlainProgram(right, "k", "v")));
  EXPECT_EQ(Verify(left, right), kVerifyError);
  EXPECT_THAT(err_.str(),
              HasSubstr(right + " was written to since its last clean close"));
}

// What is compared are the indexes, and that of a killed replica knows nothing
// of what others did since.
TEST_F(VerifyToolTest, AKilledReplicaThatOthersOpenedSinceIsNotCompared) {
  const auto a = NewReplica("a");
  a->Put("k", "value");
  const std::string left = a->setting().directory;
  const std::string killed = directory_ / "killed";
  std::filesystem::copy(left, killed, std::filesystem::copy_options::recursive);
  a->Close();
  EXPECT_EQ(Verify(left, killed), kVerifyEqual) << err_.str();
  ASSERT_TRUE(IsOk(PutByPlainProgram(killed, "k", "of another program")));
  EXPECT_EQ(Verify(left, killed), kVerifyError);
  EXPECT_THAT(err_.str(), HasSubstr(killed + " was not closed cleanly, and "));
  EXPECT_THAT(err_.str(), HasSubstr("open it once with its program"));
}

}  // namespace
}  // namespace rocksync
