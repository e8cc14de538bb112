// rocksync verify and rocksync status, against running replicas over TLS and
// offline databases.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "nlohmann/json.hpp"
#include "replication/admin/admin_client.h"
#include "replication/metrics/json.h"
#include "replication/store/format/clone_record.h"
#include "replication/store/store_access.h"
#include "replication/store/write/indexed_db.h"
#include "rocksync/metrics.h"
#include "rocksync/replica_id.h"
#include "rocksync/trial_certificates.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/open_plain.h"
#include "tools/clone.h"
#include "tools/status.h"
#include "tools/verify.h"

namespace rocksync {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class ToolTest : public ReplicationTest {
 protected:
  // As the fixture's replicas have them.
  Credentials TestCredentials(uint8_t secret = 7) {
    Credentials credentials;
    credentials.cluster = "test";
    credentials.trial_directory = directory_ / "certificates";
    std::filesystem::create_directories(credentials.trial_directory);
    std::ofstream(credentials.trial_directory + "/trial-secret",
                  std::ios::binary)
        << std::string(32, static_cast<char>(secret));
    return credentials;
  }

  // Returns the name of its file.
  std::string UseCertificateOf(uint64_t id, Credentials* credentials) {
    TrialCertificate made;
    EXPECT_TRUE(
        IsOk(MakeTrialCertificate(directory_ / "certificates", id, &made)));
    credentials->trial_directory.clear();
    credentials->tls.ca_file = made.ca_file;
    credentials->tls.certificate_file = made.certificate_file;
    credentials->tls.private_key_file = made.private_key_file;
    credentials->secret_file = directory_ / "certificates/trial-secret";
    return made.certificate_file;
  }

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
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ToolTest, TwoRunningReplicas) {
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
TEST_F(ToolTest, AReplicaThatComparesForLongIsNotGivenUp) {
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
class AskerTest : public ToolTest,
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

// `rocksync clone` was killed after it had opened the copy.
TEST_F(ToolTest, ACloneThatWasOpenedIsProvenByTheNextRun) {
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
TEST_F(ToolTest, ACloneWarnsOfTheIdThatItsCertificateNames) {
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
TEST_F(ToolTest, ACloneThatGoesOnWarnsToo) {
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

TEST_F(ToolTest, ACloneThatCopiedNothingLeavesNothing) {
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

// In no set, so nobody can say that they are equal: running or offline.
TEST_F(ToolTest, QuarantinedPairsAreNotCalledEqual) {
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

TEST_F(ToolTest, OneOfflineAgainstOneRunning) {
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

TEST_F(ToolTest, TwoOffline) {
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

TEST_F(ToolTest, WhoDoesNotKnowTheSecretLearnsNothing) {
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

TEST_F(ToolTest, Errors) {
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
TEST_F(ToolTest, NeitherADirectoryNorAnAddress) {
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

TEST_F(ToolTest, WhatIsMissingIsNamedAsTheCommandNamesIt) {
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
TEST_F(ToolTest, TheSecretThatIsGivenCounts) {
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
TEST_F(ToolTest, AMistypedTrialDirectoryIsNotMade) {
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

TEST_F(ToolTest, WhichOfTwoDirectoriesWasWrittenToIsSaid) {
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
TEST_F(ToolTest, AKilledReplicaThatOthersOpenedSinceIsNotCompared) {
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

constexpr char kIdAnd[] = R"({"replica_id":"00000000000000a1",)";

// A peer that holds the secret may answer anything.
TEST(StatusOfAnybodyTest, IsPrintedOrRefused) {
  const std::vector<std::string> values = {
      "null", "5",   "-1",   "1.5", "true", "\"x\"",
      "[]",   "[5]", "[[]]", "{}",  "[{}]", "{\"peers\":5}"};
  for (const char* name : {"peers", "clones", "wall_clock_ms", "cluster"}) {
    for (const std::string& value : values) {
      const std::string field = std::string("\"") + name + "\":" + value;
      std::ostringstream out;
      EXPECT_TRUE(IsOk(PrintStatus(kIdAnd + field + "}", false, out))) << field;
      EXPECT_TRUE(IsOk(
          PrintStatus(std::string(kIdAnd) + "\"peers\":[{\"stream\":" + value +
                          ",\"address\":" + value + ",\"sessions\":" + value +
                          ",\"in_session\":" + value + "}]}",
                      false, out)))
          << value;
    }
  }
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "{\"a\":";
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("x"), deep,
        deep + "1" + std::string(200'000, '}'), std::string("{}"),
        std::string(R"({"replica_id":"1","elements":5})")}) {
    for (const bool as_json : {false, true}) {
      std::ostringstream out;
      EXPECT_TRUE(PrintStatus(text, as_json, out).IsCorruption());
      EXPECT_EQ(out.str(), "");
    }
  }
}

// A terminal obeys control characters, and a line may be forged.
TEST(StatusOfAnybodyTest, IsPrintedWithoutControlCharacters) {
  std::ostringstream out;
  const std::string text = R"("\u001b[2J\nreplica_id x\r\u0000\u009b\u007f")";
  ASSERT_TRUE(IsOk(PrintStatus(
      std::string(kIdAnd) + text + ":1,\"last_refusal\":" + text +
          ",\"software\":{\"rocksync\":" + text + "},\"names\":[" + text +
          "],\"peers\":[{\"address\":" + text + ",\"last_error\":" + text +
          "}],\"clones\":[{\"replica_id\":" + text + "}]}",
      false, out)));
  const std::string said = out.str();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 7) << said;
  for (const char c : said) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  EXPECT_THAT(said, HasSubstr("?[2J?replica_id x"));
  // Ours has none of these bytes.
  out.str("");
  const std::string raw = std::string(kIdAnd) + "\"a\":\"\xc2\x9b\x7f\"}";
  ASSERT_TRUE(IsOk(PrintStatus(raw, /*as_json=*/true, out)));
  EXPECT_EQ(out.str(), std::string(kIdAnd) + "\"a\":\"???\"}\n");
}

TEST(StatusOfAnybodyTest, ValuesAreInOneColumn) {
  std::ostringstream out;
  ASSERT_TRUE(IsOk(PrintStatus(
      std::string(kIdAnd) +
          R"("certificate_first_to_expire":"the CA","disk":{"free":1}})",
      false, out)));
  EXPECT_EQ(out.str(),
            "replica_id                  00000000000000a1\n"
            "certificate_first_to_expire the CA\n"
            "disk.free                   1\n");
}

// Who writes the next list needs the ids of this one.
TEST(StatusOfAnybodyTest, MembersAreNamed) {
  const auto table = [](const std::string& list) {
    std::ostringstream out;
    EXPECT_TRUE(IsOk(PrintStatus(std::string(kIdAnd) +
                                     "\"tombstone_gc\":{\"member_list\":[" +
                                     list + "]}}",
                                 false, out)));
    return out.str();
  };
  const std::string id = "replica_id               00000000000000a1\n";
  EXPECT_EQ(table(R"({"replica_id":"00000000000000a1","held_ms":5},)"
                  R"({"replica_id":"00000000000000b2"})"),
            id + "tombstone_gc.member_list 00000000000000a1 "
                 "00000000000000b2\n");
  EXPECT_EQ(table(""), "replica_id 00000000000000a1\n");
  // Of 1 024 a terminal shows some.
  std::string many = R"({"replica_id":"1"})";
  for (int i = 0; i < 33; ++i) many += R"(,{"replica_id":"2"})";
  EXPECT_THAT(table(many), testing::EndsWith(" 2 2 and 2 more (--json)\n"));
  for (const char* wrong : {"5", "[5]", "{}", "\"x\"", R"({"replica_id":5})"}) {
    table(wrong);
  }
}

TEST_F(ToolTest, StatusNamesAPeerByItsIdOrSaysThatItWasNotMet) {
  std::ostringstream out;
  ASSERT_TRUE(IsOk(PrintStatus(
      std::string(kIdAnd) +
          R"("peers":[{"address":"a:1","replica_id":"0000000000000000"},)"
          R"({"address":"b:2","replica_id":"0000000000000012"}]})",
      false, out)));
  EXPECT_THAT(out.str(), HasSubstr("peer a:1 (not met since its start): "));
  EXPECT_THAT(out.str(), HasSubstr("peer b:2 (0000000000000012): "));
}

TEST_F(ToolTest, Status) {
  TestReplica::Setting setting = SettingOf("a");
  setting.adjust = [](rocksdb::Options*, ReplicatedDBOptions* options) {
    options->families = {"defualt", "default"};
  };
  const auto a = std::make_unique<TestReplica>(setting);
  ASSERT_TRUE(a->Open()) << a->open_status().ToString();
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  a->Put("key", "value");
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  StatusToolOptions options;
  options.replica = a->address();
  options.credentials = TestCredentials();
  options.json = true;
  ASSERT_EQ(RunStatus(options, out_, err_), 0) << err_.str();
  const auto status = nlohmann::json::parse(out_.str());
  EXPECT_EQ(status["cluster"], "test");
  EXPECT_EQ(status["families"], nlohmann::json::array({"default"}));
  EXPECT_EQ(status["families_not_there"], nlohmann::json::array({"defualt"}));
  EXPECT_EQ(status["pairs_sent"], 1);
  EXPECT_EQ(status["index"]["done"], true);
  EXPECT_EQ(status["pairs_quarantined"], 0);
  EXPECT_EQ(status["scrub"]["corruption_found"], 0);
  ASSERT_EQ(status["peers"].size(), 1u);
  EXPECT_EQ(status["peers"][0]["address"], b->address());
  EXPECT_GT(status["peers"][0]["last_proven_equal_ms"], 0);
  EXPECT_GT(status["certificate_expires_ms"], 0);
  EXPECT_FALSE(status.contains("held_back_replica")) << "nothing is held back";
  for (const auto name : {"pairs_too_large", "foreign_writes", "wrong_digests",
                          "digest_rescans", "digest_entries_read"}) {
    EXPECT_TRUE(status.contains(name)) << name;
  }
  // Nothing that the replica's own program is told is lost on the wire.
  auto own = nlohmann::json::parse(StatsJson(a->replicator()->stats()));
  EXPECT_EQ(status["disk"]["writes_refused"], false);
  EXPECT_EQ(status["disk"]["min_free_bytes"], own["disk"]["min_free_bytes"]);
  own.erase("disk");  // what is free may be another figure by now
  for (const auto& [name, value] : own.items()) {
    EXPECT_EQ(status[name], value) << name;
  }

  options.json = false;
  out_.str("");
  ASSERT_EQ(RunStatus(options, out_, err_), 0);
  EXPECT_THAT(out_.str(), ContainsRegex("cluster +test\n"));
  EXPECT_THAT(out_.str(), HasSubstr("peer " + b->address()));
  EXPECT_THAT(
      out_.str(),
      ContainsRegex("certificate_expires_ms +[0-9]{4}-[0-9]{2}-[0-9]{2} "
                    "[0-9:]{8} UTC \\(in [0-9]+ days\\)\n"));
  EXPECT_THAT(
      out_.str(),
      ContainsRegex("certificate_first_to_expire +the certificate in /.+\n"));
  EXPECT_THAT(out_.str(), ContainsRegex("scrub.last_finished_ms +[0-9-]{10} "
                                        "[0-9:]{8} UTC \\([0-9]+ s ago\\)\n"));
  EXPECT_THAT(out_.str(), ContainsRegex("tombstone_gc.stable_ms +never\n"));
  EXPECT_THAT(out_.str(), ContainsRegex("stream.lag_ms +0\n"));
  EXPECT_THAT(out_.str(), ContainsRegex("disk.writes_refused +false\n"));
  for (const char* list : {"member_list", "clones"}) {
    EXPECT_THAT(out_.str(), Not(HasSubstr(list))) << "an empty one, too";
  }

  // The replica's own program is told the same; after the end, too.
  const auto here = nlohmann::json::parse(a->replicator()->StatusJson());
  a->replicator()->Stop();
  const auto last = nlohmann::json::parse(a->replicator()->StatusJson());
  for (const auto& [name, value] : status.items()) {
    EXPECT_TRUE(here.contains(name)) << name;
    EXPECT_TRUE(last.contains(name)) << name;
  }
  EXPECT_EQ(here.size(), status.size());
  EXPECT_EQ(last["cluster"], "test");
}

}  // namespace
}  // namespace rocksync
