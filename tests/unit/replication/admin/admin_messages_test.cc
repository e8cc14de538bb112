#include "replication/admin/admin_messages.h"

#include <string>

#include "gtest/gtest.h"
#include "replication/membership/authentication.h"

namespace rocksync {
namespace {

constexpr ClusterSecret kSecret = {1, 2, 3};
constexpr ClusterSecret kOther = {1, 2, 4};

class AdminMessagesTest : public testing::Test {
 protected:
  const std::string auth_hello_ = AuthHelloMessage({"orders", {9, 8, 7}});
  const std::string challenge_ =
      ChallengeMessage(kSecret, {}, auth_hello_, {1, 1, 2, 3, 5});
};

TEST_F(AdminMessagesTest, ARequestIsBoundToItsConnection) {
  Request request;
  request.kind = Request::Kind::kVerify;
  request.peer = "host:1";
  request.max_keys = 300;
  request.wait_ms = 5;
  const std::string message =
      RequestMessage(kSecret, auth_hello_, challenge_, request);
  EXPECT_TRUE(IsRequest(message));
  EXPECT_FALSE(IsRequest(auth_hello_));
  EXPECT_FALSE(IsRequest(""));
  Request read;
  ASSERT_TRUE(
      ReadRequest(kSecret, auth_hello_, challenge_, message, &read).ok());
  EXPECT_EQ(read.kind, Request::Kind::kVerify);
  EXPECT_EQ(read.peer, "host:1");
  EXPECT_EQ(read.max_keys, 300u);
  EXPECT_EQ(read.wait_ms, 5u);

  EXPECT_FALSE(
      ReadRequest(kOther, auth_hello_, challenge_, message, &read).ok());
  const std::string fresh = ChallengeMessage(kSecret, {}, auth_hello_, {4});
  EXPECT_TRUE(absl::IsFailedPrecondition(
      ReadRequest(kSecret, auth_hello_, fresh, message, &read)))
      << "a request of yesterday";
  for (size_t i = 1; i < message.size(); ++i) {
    std::string changed = message;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(
        ReadRequest(kSecret, auth_hello_, challenge_, changed, &read).ok())
        << "byte " << i;
  }
}

TEST_F(AdminMessagesTest, FamiliesTravel) {
  Request request;
  request.kind = Request::Kind::kCompare;
  request.families = {"default", "users"};
  Request read;
  ASSERT_TRUE(
      ReadRequest(kSecret, auth_hello_, challenge_,
                  RequestMessage(kSecret, auth_hello_, challenge_, request),
                  &read)
          .ok());
  EXPECT_EQ(read.families, request.families);
}

TEST_F(AdminMessagesTest, Replies) {
  Reply read;
  ASSERT_TRUE(ReadReply(ReplyMessage({Reply::Kind::kLine, "{}"}), &read).ok());
  EXPECT_EQ(read.kind, Reply::Kind::kLine);
  EXPECT_EQ(read.text, "{}");
  EXPECT_EQ(ReplyMessage({Reply::Kind::kDone, "x"}), std::string("\x19\0x", 3));
  EXPECT_FALSE(ReadReply("", &read).ok());
  EXPECT_FALSE(ReadReply("\x19", &read).ok());
  EXPECT_FALSE(ReadReply("\x19\x03", &read).ok());
}

}  // namespace
}  // namespace rocksync
