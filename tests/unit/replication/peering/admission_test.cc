#include "replication/peering/admission.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/support/memory_transport.h"

namespace rocksync {
namespace {

using std::chrono::milliseconds;

class AdmissionTest : public ::testing::Test {
 protected:
  const milliseconds timeout_{10'000};
  const AdmissionConfig terms_{
      .cluster = "c", .secret = {}, .shown_id = 0, .timeout = timeout_};
  MemoryPipe pipe_ = NewMemoryPipe();
  std::string auth_hello_ = AuthHelloMessage({"c", AuthNonce{}});
};

// A shared port has received the first message, and a database goes on.
TEST_F(AdmissionTest, TheFirstMessageIsNotReceivedTwice) {
  ASSERT_TRUE(pipe_.dialer->Send(auth_hello_, timeout_).ok());
  const auto began = AdmissionClock::now();
  Admission admission;
  std::string cluster;
  ASSERT_TRUE(ReceiveClusterName(pipe_.listener.get(), began,
                                 &admission.auth_hello, &cluster)
                  .ok());
  EXPECT_EQ(cluster, "c");
  EXPECT_EQ(admission.auth_hello, auth_hello_);
  ASSERT_TRUE(pipe_.dialer->Send("no proof", timeout_).ok());
  EXPECT_FALSE(
      AuthenticateAsListener(terms_, began, pipe_.listener.get(), &admission)
          .ok());
  std::string challenge;
  ASSERT_TRUE(pipe_.dialer->Receive(&challenge, timeout_).ok());
  EXPECT_EQ(challenge, admission.challenge);
}

// Either name is somebody else's to one of the two.
TEST_F(AdmissionTest, ClustersAreToldInPrintableText) {
  auth_hello_ = AuthHelloMessage({"d\xff\x1b[2J", AuthNonce{}});
  ASSERT_TRUE(pipe_.dialer->Send(auth_hello_, timeout_).ok());
  AdmissionConfig terms = terms_;
  terms.cluster = "l\xfe";
  Admission admission;
  const rocksdb::Status s = AuthenticateAsListener(
      terms, AdmissionClock::now(), pipe_.listener.get(), &admission);
  const std::string dialed = R"(the one that dials names "d\xff\x1b[2J")";
  EXPECT_NE(s.ToString().find(dialed), std::string::npos) << s.ToString();
  std::string farewell;
  ASSERT_TRUE(pipe_.dialer->Receive(&farewell, timeout_).ok());
  EXPECT_NE(farewell.find(dialed + R"(, the replica that it dialed belongs )"
                                   R"(to "l\xfe")"),
            std::string::npos)
      << farewell;
  const rocksdb::Status refused = RefuseCluster(
      pipe_.listener.get(), AdmissionClock::now(), "d\xff\x1b[2J");
  EXPECT_NE(refused.ToString().find(dialed), std::string::npos)
      << refused.ToString();
}

TEST_F(AdmissionTest, AFarewellIsToldInPrintableText) {
  ASSERT_TRUE(pipe_.listener->Send(FarewellMessage("no\xff\n"), timeout_).ok());
  Admission admission;
  const rocksdb::Status s =
      AuthenticateAsDialer(terms_, pipe_.dialer.get(), &admission);
  EXPECT_NE(s.ToString().find(R"(refuses: no\xff\x0a)"), std::string::npos)
      << s.ToString();
}

// Both share the time of one authentication: what was spent on the first
// message is gone.
TEST_F(AdmissionTest, TheWholeAuthenticationHasOneTimeLimit) {
  const auto long_ago = AdmissionClock::now() - kProveTimeout;
  Admission admission;
  std::string cluster;
  EXPECT_TRUE(ReceiveClusterName(pipe_.listener.get(), long_ago,
                                 &admission.auth_hello, &cluster)
                  .IsTimedOut());
  admission.auth_hello = auth_hello_;
  const auto asked = AdmissionClock::now();
  EXPECT_TRUE(
      AuthenticateAsListener(terms_, long_ago, pipe_.listener.get(), &admission)
          .IsTimedOut());
  EXPECT_LT(AdmissionClock::now() - asked, kProveTimeout / 2);
}

}  // namespace
}  // namespace rocksync
