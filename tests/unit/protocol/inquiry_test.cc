#include "replication/protocol/inquiry.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rocksync {
namespace {

using testing::HasSubstr;

constexpr ClusterSecret kSecret = {1, 2, 3};
constexpr ClusterSecret kOther = {1, 2, 4};

class InquiryTest : public testing::Test {
 protected:
  const Ask ask_{"orders", {9, 8, 7}};
  const std::string ask_message_ = AskMessage(ask_);
  const InquiryNonce nonce_ = {1, 1, 2, 3, 5};
  const std::string challenge_ =
      ChallengeMessage(kSecret, ask_message_, nonce_);
};

TEST_F(InquiryTest, Ask) {
  EXPECT_TRUE(IsAsk(ask_message_));
  EXPECT_FALSE(IsAsk(challenge_));
  EXPECT_FALSE(IsAsk(""));
  Ask read;
  ASSERT_TRUE(ReadAsk(ask_message_, &read).ok());
  EXPECT_EQ(read.cluster, "orders");
  EXPECT_EQ(read.nonce, ask_.nonce);
  EXPECT_EQ(ask_message_.substr(0, 14), "\x16rocksync ask\x01");
  for (size_t size = 0; size < ask_message_.size(); ++size) {
    EXPECT_FALSE(ReadAsk(ask_message_.substr(0, size), &read).ok()) << size;
  }
  std::string newer = ask_message_;
  newer[13] = 2;
  EXPECT_THAT(std::string(ReadAsk(newer, &read).message()),
              HasSubstr("version 2"));
}

TEST_F(InquiryTest, TheReplicaProvesTheSecret) {
  InquiryNonce read;
  ASSERT_TRUE(ReadChallenge(kSecret, ask_message_, challenge_, &read).ok());
  EXPECT_EQ(read, nonce_);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      ReadChallenge(kOther, ask_message_, challenge_, &read)));
  const std::string other_ask = AskMessage({"orders", {9, 8, 6}});
  EXPECT_FALSE(ReadChallenge(kSecret, other_ask, challenge_, &read).ok())
      << "a challenge of yesterday";
}

TEST_F(InquiryTest, TheAskerProvesTheSecret) {
  Request request;
  request.kind = Request::Kind::kVerify;
  request.peer = "host:1";
  request.max_keys = 300;
  request.settle_ms = 5;
  const std::string message =
      RequestMessage(kSecret, ask_message_, challenge_, request);
  Request read;
  ASSERT_TRUE(
      ReadRequest(kSecret, ask_message_, challenge_, message, &read).ok());
  EXPECT_EQ(read.kind, Request::Kind::kVerify);
  EXPECT_EQ(read.peer, "host:1");
  EXPECT_EQ(read.max_keys, 300u);
  EXPECT_EQ(read.settle_ms, 5u);

  EXPECT_FALSE(
      ReadRequest(kOther, ask_message_, challenge_, message, &read).ok());
  const std::string fresh = ChallengeMessage(kSecret, ask_message_, {4});
  EXPECT_TRUE(absl::IsFailedPrecondition(
      ReadRequest(kSecret, ask_message_, fresh, message, &read)))
      << "a request of yesterday";
  for (size_t i = 1; i < message.size(); ++i) {
    std::string changed = message;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(
        ReadRequest(kSecret, ask_message_, challenge_, changed, &read).ok())
        << "byte " << i;
  }
}

TEST_F(InquiryTest, FamiliesTravel) {
  Request request;
  request.kind = Request::Kind::kCompare;
  request.families = {"default", "users"};
  Request read;
  ASSERT_TRUE(
      ReadRequest(kSecret, ask_message_, challenge_,
                  RequestMessage(kSecret, ask_message_, challenge_, request),
                  &read)
          .ok());
  EXPECT_EQ(read.families, request.families);
}

TEST_F(InquiryTest, Replies) {
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
