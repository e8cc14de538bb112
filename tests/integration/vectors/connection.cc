#include "tests/integration/vectors/connection.h"

#include <utility>

#include "gtest/gtest.h"
#include "tests/integration/vectors/vectors.h"

namespace rocksync {

std::vector<std::string> Authenticate(const AuthIds& ids,
                                      const ClusterSecret& secret) {
  const std::string hello =
      AuthHelloMessage({std::string(kVectorCluster), kDialerNonce});
  const std::string challenge =
      ChallengeMessage(secret, ids, hello, kListenerNonce);
  const std::string proof = ProofMessage(secret, ids, hello, challenge);
  AuthNonce nonce{};
  EXPECT_TRUE(ReadChallenge(secret, ids, hello, challenge, &nonce).ok());
  EXPECT_TRUE(ReadProof(secret, ids, hello, challenge, proof).ok());
  return {hello, challenge, proof};
}

SetupFacts FactsOf(uint64_t replica_id) {
  SetupFacts facts;
  facts.cluster = kVectorCluster;
  facts.replica_id = replica_id;
  facts.incarnation = {.counter = 1, .random = 0x1111 * replica_id};
  facts.past = {.since = 0};
  facts.nonce = replica_id == 1 ? kDialerNonce : kListenerNonce;
  facts.families = {{std::string(kVectorFamily), "leveldb.BytewiseComparator"}};
  return facts;
}

std::vector<std::string> SetUp(const SetupFacts& dialer,
                               const SetupFacts& listener,
                               const ClusterSecret& secret) {
  Setup sides[2] = {Setup(Role::kInitiator, dialer, secret, {}),
                    Setup(Role::kResponder, listener, secret, {})};
  std::vector<std::string> messages;
  bool spoke = true;
  for (int speaker = 0; spoke; speaker ^= 1) {
    spoke = false;
    std::string message;
    while (sides[speaker].NextMessage(&message)) {
      spoke = true;
      messages.push_back(message);
      // What it refuses is in its next message.
      sides[speaker ^ 1].Receive(message).IgnoreError();
    }
  }
  EXPECT_TRUE(sides[0].done() && sides[1].done());
  return messages;
}

}  // namespace rocksync
