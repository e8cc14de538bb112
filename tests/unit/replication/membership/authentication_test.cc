#include "replication/membership/authentication.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replication/session/messages.h"

namespace rocksync {
namespace {

using testing::HasSubstr;

constexpr ClusterSecret kSecret = {1, 2, 3};
constexpr ClusterSecret kOther = {1, 2, 4};
constexpr AuthIds kIds = {0xd1, 0x11};

class AuthenticationTest : public testing::Test {
 protected:
  absl::Status Read(std::string_view challenge,
                    const ClusterSecret& secret = kSecret,
                    const AuthIds& ids = kIds) {
    return ReadChallenge(secret, ids, auth_hello_, challenge, &read_);
  }
  absl::Status Prove(std::string_view proof,
                     const ClusterSecret& secret = kSecret,
                     const AuthIds& ids = kIds) {
    return ReadProof(secret, ids, auth_hello_, challenge_, proof);
  }

  const std::string auth_hello_ = AuthHelloMessage({"orders", {9, 8, 7}});
  const AuthNonce nonce_ = {1, 1, 2, 3, 5};
  const std::string challenge_ =
      ChallengeMessage(kSecret, kIds, auth_hello_, nonce_);
  const std::string proof_ =
      ProofMessage(kSecret, kIds, auth_hello_, challenge_);
  AuthNonce read_{};
};

TEST_F(AuthenticationTest, AuthHello) {
  AuthHello read;
  ASSERT_TRUE(ReadAuthHello(auth_hello_, &read).ok());
  EXPECT_EQ(read.cluster, "orders");
  EXPECT_EQ(read.nonce, (AuthNonce{9, 8, 7}));
  EXPECT_EQ(auth_hello_.substr(0, 10), "\x16rocksync\x01");
  for (size_t size = 0; size < auth_hello_.size(); ++size) {
    EXPECT_FALSE(ReadAuthHello(auth_hello_.substr(0, size), &read).ok())
        << size;
  }
  EXPECT_FALSE(ReadAuthHello(auth_hello_ + "x", &read).ok());
  std::string newer = auth_hello_;
  newer[9] = 2;
  EXPECT_THAT(std::string(ReadAuthHello(newer, &read).message()),
              HasSubstr("version 2"));
}

TEST_F(AuthenticationTest, TheListenerProvesTheSecret) {
  ASSERT_TRUE(Read(challenge_).ok());
  EXPECT_EQ(read_, nonce_);
  EXPECT_TRUE(absl::IsFailedPrecondition(Read(challenge_, kOther)));
  EXPECT_FALSE(Read(ChallengeMessage(kSecret, kIds,
                                     AuthHelloMessage({"orders", {9}}), nonce_))
                   .ok())
      << "a challenge of yesterday";
  for (size_t i = 0; i < challenge_.size(); ++i) {
    std::string changed = challenge_;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(Read(changed).ok()) << i;
    EXPECT_FALSE(Read(challenge_.substr(0, i)).ok()) << i;
  }
}

TEST_F(AuthenticationTest, TheDialerProvesTheSecret) {
  ASSERT_TRUE(Prove(proof_).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Prove(proof_, kOther)));
  const std::string fresh = ChallengeMessage(kSecret, kIds, auth_hello_, {4});
  EXPECT_FALSE(ReadProof(kSecret, kIds, auth_hello_, fresh, proof_).ok())
      << "a proof of yesterday";
  for (size_t i = 0; i < proof_.size(); ++i) {
    std::string changed = proof_;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(Prove(changed).ok()) << i;
    EXPECT_FALSE(Prove(proof_.substr(0, i)).ok()) << i;
  }
  // Nor does what the listener said prove anything.
  EXPECT_FALSE(Prove("\x1b" + challenge_.substr(1, 16)).ok());
}

// Somebody with a certificate, 0xbad, who connects at one replica as soon as
// another has knocked at it, and hands on what either says.
TEST_F(AuthenticationTest, WhatIsFetchedFromAThirdProvesNothing) {
  const std::string fetched =
      ChallengeMessage(kSecret, {0xbad, 0x11}, auth_hello_, nonce_);
  EXPECT_TRUE(
      absl::IsFailedPrecondition(Read(fetched, kSecret, {0xd1, 0xbad})));
  const std::string handed_on =
      ProofMessage(kSecret, {0xd1, 0xbad}, auth_hello_, challenge_);
  EXPECT_TRUE(
      absl::IsFailedPrecondition(Prove(handed_on, kSecret, {0xbad, 0x11})));
}

TEST_F(AuthenticationTest, ProofsNameBothEnds) {
  const AuthIds other_dialer = {kIds.dialer + 1, kIds.listener};
  const AuthIds other_listener = {kIds.dialer, kIds.listener + 1};
  for (const AuthIds& ids : {other_dialer, other_listener}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(Read(challenge_, kSecret, ids)));
    EXPECT_TRUE(absl::IsFailedPrecondition(Prove(proof_, kSecret, ids)));
  }
}

TEST_F(AuthenticationTest, AFarewellIsATextAndNoMore) {
  const std::string text(2 * kMaxTextBytes, 'x');
  EXPECT_EQ(FarewellMessage(text).size(), 1 + kMaxTextBytes);
  const absl::Status said = Read(FarewellMessage("go away"));
  EXPECT_TRUE(absl::IsFailedPrecondition(said));
  EXPECT_THAT(std::string(said.message()), HasSubstr("go away"));
  EXPECT_FALSE(Read("\x1c" + text).ok());
}

}  // namespace
}  // namespace rocksync
