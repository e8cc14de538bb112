// Peers with a good certificate that have not proven the cluster's secret: what
// they can cost a replica is small, whichever side dialed, and they keep nobody
// out.

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "replication/membership/authentication.h"
#include "replication/session/messages.h"
#include "replication/transport/certificate.h"
#include "rocksync/trial_certificates.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/unit/replication/transport/raw_peer.h"

namespace rocksync {
namespace {

constexpr uint64_t kHostileId = 0xbad;
constexpr int kHostiles = 64;
constexpr milliseconds kPatience{10'000};
constexpr size_t kLargestFrame = size_t{16} << 20;

size_t ResidentBytes() {
  size_t total = 0;
  size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

class Unauthenticated : public ReplicationTest {
 protected:
  Unauthenticated() : a_(NewReplica("a")) {
    EXPECT_TRUE(IsOk(a_->Start()));
    TrialCertificate files;
    EXPECT_TRUE(IsOk(
        MakeTrialCertificate(a_->setting().certificates, kHostileId, &files)));
    EXPECT_TRUE(
        IsOk(ReadCertificate(files.certificate_file, &hostile_.certificate)));
    FILE* const key = std::fopen(files.private_key_file.c_str(), "r");
    hostile_.key.reset(PEM_read_PrivateKey(key, nullptr, nullptr, nullptr));
    std::fclose(key);
  }

  // A connection that the replica has welcomed; nothing is said yet.
  std::unique_ptr<RawPeer> AuthHello() {
    auto peer = std::make_unique<RawPeer>(a_->address());
    EXPECT_TRUE(peer->StartTls(hostile_));
    EXPECT_EQ(peer->Read(1), std::string(1, '\0'));
    return peer;
  }

  const std::unique_ptr<TestReplica> a_;
  CertificateAndKey hostile_;
};

TEST_F(Unauthenticated, LargestFramesOfManyIncomingAreNotHeld) {
  const size_t before = ResidentBytes();
  std::string frame = "\x80\x80\x80\x08";  // 16 MiB; its last byte never comes
  frame.append(kLargestFrame - 1, 'x');
  std::vector<std::unique_ptr<RawPeer>> hostiles;
  for (int i = 0; i < kHostiles; ++i) {
    hostiles.push_back(AuthHello());
    (void)hostiles.back()->Write(frame);  // it is hung up on, better soon
  }
  const size_t during = ResidentBytes();
  hostiles.clear();
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(b->Start()));
  ASSERT_TRUE(IsOk(b->replicator()->SyncNow(a_->address())));
  const size_t after = ResidentBytes();
  std::printf("resident MiB: %zu before, %zu during, %zu after\n", before >> 20,
              during >> 20, after >> 20);
  EXPECT_LT(during, before + (size_t{160} << 20));
  EXPECT_LT(after, before + (size_t{160} << 20));
}

TEST_F(Unauthenticated, SilentPeersKeepNobodyOut) {
  std::vector<std::unique_ptr<RawPeer>> hostiles;
  for (int i = 0; i < kHostiles; ++i) hostiles.push_back(AuthHello());
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(b->Start()));
  EXPECT_TRUE(IsOk(b->replicator()->SyncNow(a_->address())));
}

TEST_F(Unauthenticated, WhoCannotProveTheSecretIsToldSoAndNoMore) {
  TestReplica b(SettingOf("b"));
  ASSERT_TRUE(b.Open());
  std::shared_ptr<Transport> transport;
  ASSERT_TRUE(IsOk(b.NewTransport(&transport)));
  std::unique_ptr<Connection> connection;
  ASSERT_TRUE(
      IsOk(transport->Connect(a_->address(), kPatience, nullptr, &connection)));
  ASSERT_TRUE(
      IsOk(connection->Send(AuthHelloMessage({"test", {1, 2, 3}}), kPatience)));
  std::string answer;
  ASSERT_TRUE(IsOk(connection->Receive(&answer, kPatience)));
  EXPECT_EQ(answer[0], static_cast<char>(MessageType::kChallenge));
  const std::string guess(1, static_cast<char>(MessageType::kProof));
  ASSERT_TRUE(IsOk(connection->Send(guess + std::string(16, 'x'), kPatience)));
  ASSERT_TRUE(IsOk(connection->Receive(&answer, kPatience)));
  EXPECT_EQ(answer[0], static_cast<char>(MessageType::kFarewell));
  EXPECT_NE(answer.find("secret differs"), std::string::npos) << answer;
  EXPECT_TRUE(connection->Receive(&answer, kPatience).IsIOError());
}

// A listener of the cluster's CA that answers with all that a frame may hold.
TEST_F(Unauthenticated, AListenersLargestFrameIsNotHeld) {
  TestReplica::Setting setting = SettingOf("b");
  TestReplica b(setting);
  ASSERT_TRUE(b.Open());
  std::shared_ptr<Transport> transport;
  ASSERT_TRUE(IsOk(b.NewTransport(&transport)));
  std::thread answering;
  ASSERT_TRUE(IsOk(transport->Listen(
      "127.0.0.1:0", [&](std::unique_ptr<Connection> connection) {
        answering = std::thread([c = std::move(connection)] {
          std::string first;
          (void)c->Receive(&first, kPatience);
          (void)c->Send(std::string(kLargestFrame, 'x'), kPatience);
        });
      })));
  const rocksdb::Status s =
      a_->replicator()->SyncNow(transport->listen_address());
  EXPECT_TRUE(s.IsCorruption()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "claims 16777216 bytes"));
  answering.join();
}

}  // namespace
}  // namespace rocksync
