// Who is let in, and what those who are not are told.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/env.h"
#include "tests/support/file_content.h"
#include "tests/support/kept_log.h"
#include "tests/unit/replication/transport/cluster.h"
#include "tests/unit/replication/transport/raw_peer.h"

namespace rocksync {
namespace {

class TlsIdentity : public ::testing::Test {
 protected:
  // A listener of replica 0x11 that collects incoming connections and refusals.
  void Listen() { ListenWith(cluster_.Options(0x11)); }
  void ListenWith(TlsTransportOptions options) {
    options.refused = [this](const rocksdb::Status& why) {
      acceptor_.AddRefusal(why);
    };
    listener_ = cluster_.NewTransport(options);
    acceptor_.ListenOn(listener_.get());
  }
  rocksdb::Status Dial(const std::shared_ptr<Transport>& dialer) {
    std::unique_ptr<Connection> connection;
    return dialer->Connect(listener_->listen_address(), kGenerous, nullptr,
                           &connection);
  }

  TestCluster cluster_;
  Acceptor acceptor_;
  std::shared_ptr<Transport> listener_;
};

TEST_F(TlsIdentity, AnotherClustersReplicaIsToldByBothSides) {
  Listen();
  const TestCluster other;
  const rocksdb::Status s = Dial(other.NewTransport(0xd1));
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, other.ca_file()));
  EXPECT_TRUE(Mentions(s, listener_->listen_address()));
  EXPECT_TRUE(Mentions(s, "give the CA that issued it"));
  // The dialer has hung up; what the listener learns is an alert.
  EXPECT_TRUE(acceptor_.NextRefusal().IsInvalidArgument());
}

// The cluster gets another CA, and with it another certificate and key.
TEST_F(TlsIdentity, RenewedFilesAreTakenUpByTheNextConnection) {
  const TlsTransportOptions mine = cluster_.Options(0x11);
  const TestCluster next;
  const TlsTransportOptions theirs = next.Options(0x11);
  const auto replace = [](const std::string& from, const std::string& to) {
    std::filesystem::copy_file(from, to + ".new");
    std::filesystem::rename(to + ".new", to);
  };
  // Of its own, as NewTransport writes over the listener's.
  const TestCluster dialers;
  TlsTransportOptions old_dialer = dialers.Files(cluster_.Issue(0xd1));
  old_dialer.ca_file = dialers.scratch() / "old_ca.pem";
  std::filesystem::copy_file(mine.ca_file, old_dialer.ca_file);
  const auto old_transport = cluster_.NewTransport(old_dialer);

  TlsTransportOptions listens = mine;
  std::mutex mutex;
  std::vector<rocksdb::Status> told;
  listens.renewed = [&](const rocksdb::Status& why) {
    const std::lock_guard lock(mutex);
    told.push_back(why);
  };
  ListenWith(listens);
  const auto log = std::make_shared<KeptLog>();
  listener_->SetLogger(log);
  ASSERT_TRUE(Dial(old_transport).ok());

  // A key without its certificate: the earlier files stay in use.
  replace(theirs.private_key_file, mine.private_key_file);
  EXPECT_TRUE(Dial(old_transport).ok());
  {
    const std::lock_guard lock(mutex);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_TRUE(told[0].IsInvalidArgument()) << told[0].ToString();
    EXPECT_TRUE(Mentions(told[0], "does not belong to certificate"));
  }
  const CertificateState unfit = listener_->certificate();
  EXPECT_NE(unfit.error.find("does not belong to certificate"),
            std::string::npos)
      << unfit.error;
  EXPECT_EQ(unfit.renewals, 0u);
  ASSERT_EQ(log->lines().size(), 1u);  // once, however many connect
  EXPECT_NE(log->lines()[0].find("does not belong to certificate"),
            std::string::npos)
      << log->lines()[0];

  replace(theirs.ca_file, mine.ca_file);
  replace(theirs.certificate_file, mine.certificate_file);
  const rocksdb::Status dialed = Dial(next.NewTransport(0xd2));
  EXPECT_TRUE(dialed.ok()) << dialed.ToString();
  EXPECT_FALSE(Dial(old_transport).ok());
  EXPECT_EQ(listener_->certificate().error, "");
  EXPECT_EQ(listener_->certificate().renewals, 1u);
  const std::string renewed = log->lines()[1];
  EXPECT_NE(renewed.find("are in use"), std::string::npos) << renewed;
  EXPECT_NE(renewed.find(" UTC"), std::string::npos) << renewed;
  {
    const std::lock_guard lock(mutex);
    ASSERT_EQ(told.size(), 2u);
    EXPECT_TRUE(told[1].ok()) << told[1].ToString();
  }
  // From here on the log may be gone.
  listener_->SetLogger(nullptr);
  const size_t lines = log->lines().size();
  std::filesystem::remove(mine.certificate_file);
  EXPECT_NE(listener_->certificate().error, "");
  EXPECT_EQ(log->lines().size(), lines);
}

// As by `chown`, or when the time has come from which a certificate is valid:
// nothing of the file itself tells of it.
TEST_F(TlsIdentity, FilesThatCouldNotBeUsedAreTriedAgain) {
  TlsTransportOptions options = cluster_.Options(0x11);
  std::vector<rocksdb::Status> told;
  options.renewed = [&](const rocksdb::Status& why) { told.push_back(why); };
  const auto transport = cluster_.NewTransport(options);
  const std::string sound = FileContent(options.certificate_file);
  std::string damaged = sound;
  std::fill(damaged.begin() + 40, damaged.begin() + 60, '!');
  const auto written =
      std::filesystem::last_write_time(options.certificate_file) +
      std::chrono::seconds(9);
  const auto write = [&](const std::string& bytes) {
    std::ofstream(options.certificate_file, std::ios::in | std::ios::binary)
        << bytes;
    std::filesystem::last_write_time(options.certificate_file, written);
  };

  write(damaged);
  for (int i = 0; i < 2; ++i) EXPECT_NE(transport->certificate().error, "");
  ASSERT_EQ(told.size(), 1u) << "of the same error once";
  EXPECT_FALSE(told[0].ok());
  write(sound);
  EXPECT_EQ(transport->certificate().error, "");
  EXPECT_EQ(transport->certificate().renewals, 1u);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_TRUE(told[1].ok()) << told[1].ToString();
}

TEST_F(TlsIdentity, FilesThatNameAnotherReplicaAreNotTakenUp) {
  TlsTransportOptions options = cluster_.Options(0x11);
  rocksdb::Status told;
  options.renewed = [&](const rocksdb::Status& why) { told = why; };
  const auto transport = cluster_.NewTransport(options);
  Listen();
  cluster_.Options(0xd1);  // the same files
  EXPECT_TRUE(Dial(transport).ok());
  EXPECT_TRUE(told.IsInvalidArgument()) << told.ToString();
  EXPECT_TRUE(Mentions(told, "names replica 00000000000000d1"));
  EXPECT_EQ(transport->replica_id(), 0x11u);
}

TEST_F(TlsIdentity, TellsWhenItsCertificateExpires) {
  const auto now_ms = [] {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::system_clock::now().time_since_epoch())
            .count());
  };
  constexpr uint64_t kDayMs = 86'400'000;
  const TestCluster long_lived(std::chrono::hours(24 * 90));
  const TlsTransportOptions options = long_lived.Options(0x11);
  const auto transport = long_lived.NewTransport(options);
  const uint64_t expires = transport->certificate().expires_ms;
  EXPECT_GT(expires, now_ms() + 29 * kDayMs);
  EXPECT_LE(expires, now_ms() + 30 * kDayMs);
  EXPECT_EQ(transport->certificate().first_to_expire,
            "the certificate in " + options.certificate_file);
  // The renewed one, before anybody connects.
  const TestCluster elsewhere;
  const TlsTransportOptions renewed = elsewhere.Files(
      long_lived.Issue({.common_name = "renewed",
                        .uri = ReplicaUri(0x11),
                        .not_after = std::chrono::hours(24 * 60)}));
  for (const auto& [from, to] :
       {std::pair(renewed.private_key_file, options.private_key_file),
        {renewed.certificate_file, options.certificate_file}}) {
    std::filesystem::copy_file(from, to + ".new");
    std::filesystem::rename(to + ".new", to);
  }
  EXPECT_GT(transport->certificate().expires_ms, now_ms() + 59 * kDayMs);
  std::shared_ptr<Transport> plain;
  ASSERT_TRUE(NewInsecurePlaintextTransport({}, &plain).ok());
  EXPECT_EQ(plain->certificate().expires_ms, 0u);
  EXPECT_EQ(plain->certificate().first_to_expire, "");
}

TEST_F(TlsIdentity, TellsOfTheCaIfThatExpiresFirst) {
  const TestCluster ending(std::chrono::hours(24 * 7));
  X509Ptr ca;
  ASSERT_TRUE(ReadCertificate(ending.ca_file(), &ca).ok());
  const CertificateState state = ending.NewTransport(0x11)->certificate();
  EXPECT_EQ(state.expires_ms, ExpiresMs(ca.get()));
  EXPECT_EQ(state.first_to_expire,
            "the CA in " + ending.ca_file() + " (CN=cluster CA)");
}

TEST_F(TlsIdentity, ADialerThatTrustsUsButIsNotOfUs) {
  Listen();
  const TestCluster other;
  TlsTransportOptions options = other.Options(0xd1);
  // Trusts both CAs, is signed by the other.
  const std::string both = other.scratch() / "both.pem";
  std::ofstream(both) << std::ifstream(other.ca_file()).rdbuf()
                      << std::ifstream(cluster_.ca_file()).rdbuf();
  options.ca_file = both;
  const rocksdb::Status s = Dial(other.NewTransport(options));
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "refused our certificate"));
  EXPECT_TRUE(Mentions(s, options.certificate_file));
  EXPECT_TRUE(Mentions(acceptor_.NextRefusal(), cluster_.ca_file()));
}

// In the database's log, too: whose transport has no `refused` hears of it.
TEST_F(TlsIdentity, ACallerOfAnotherCaIsLogged) {
  Listen();
  const auto log = std::make_shared<KeptLog>();
  listener_->SetLogger(log);
  const TestCluster other;
  EXPECT_FALSE(Dial(other.NewTransport(0xd1)).ok());
  EXPECT_FALSE(acceptor_.NextRefusal().ok());
  EXPECT_FALSE(Dial(other.NewTransport(0xd1)).ok());
  EXPECT_FALSE(acceptor_.NextRefusal().ok());
  ASSERT_GE(log->lines().size(), 1u);
  EXPECT_NE(log->lines()[0].find("rocksync: refused connection: "),
            std::string::npos)
      << log->lines()[0];
  listener_->SetLogger(nullptr);
}

TEST_F(TlsIdentity, ExpiredCertificate) {
  Listen();
  RawPeer peer(listener_->listen_address());
  peer.StartTls(cluster_.Issue({.common_name = "old",
                                .uri = ReplicaUri(0xd1),
                                .not_after = std::chrono::seconds(-60)}));
  peer.Read();
  EXPECT_TRUE(peer.ClosedByPeer());
  const rocksdb::Status s = acceptor_.NextRefusal();
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "certificate has expired"));
  EXPECT_TRUE(Mentions(s, "renew it"));
  EXPECT_TRUE(Mentions(s, "CN=old"));
}

TEST_F(TlsIdentity, CertificateThatNamesNoReplica) {
  Listen();
  RawPeer peer(listener_->listen_address());
  ASSERT_TRUE(
      peer.StartTls(cluster_.Issue({.common_name = "web server", .uri = ""})));
  EXPECT_NE(peer.Read().find("rocksync:replica:<16 hex digits>"),
            std::string::npos);
  EXPECT_TRUE(peer.ClosedByPeer());
  EXPECT_TRUE(
      Mentions(acceptor_.NextRefusal(), "rocksync:replica:<16 hex digits>"));
}

TEST_F(TlsIdentity, NoCertificate) {
  Listen();
  RawPeer peer(listener_->listen_address());
  peer.StartTls({});
  EXPECT_EQ(peer.Read(), "");
  EXPECT_TRUE(Mentions(acceptor_.NextRefusal(), "showed no certificate"));
}

TEST_F(TlsIdentity, OlderTls) {
  Listen();
  RawPeer peer(listener_->listen_address());
  EXPECT_FALSE(peer.StartTls(cluster_.Issue(0xd1), TLS1_2_VERSION));
  const rocksdb::Status s = acceptor_.NextRefusal();
  EXPECT_TRUE(s.IsNotSupported()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "TLS 1.3"));
}

TEST_F(TlsIdentity, PlaintextDialerAndTlsListener) {
  Listen();
  std::shared_ptr<Transport> plain;
  ASSERT_TRUE(NewInsecurePlaintextTransport({}, &plain).ok());
  const rocksdb::Status s = Dial(plain);
  EXPECT_FALSE(s.ok());
  EXPECT_TRUE(Mentions(s, "it speaks TLS, or refuses this replica"));
  EXPECT_TRUE(Mentions(acceptor_.NextRefusal(), "does not speak TLS"));
}

TEST_F(TlsIdentity, TlsDialerAndPlaintextListener) {
  PlaintextTransportOptions options;
  options.refused = [this](const rocksdb::Status& why) {
    acceptor_.AddRefusal(why);
  };
  ASSERT_TRUE(NewInsecurePlaintextTransport(options, &listener_).ok());
  acceptor_.ListenOn(listener_.get());
  const rocksdb::Status s = Dial(cluster_.NewTransport(0xd1));
  EXPECT_FALSE(s.ok());
  EXPECT_TRUE(Mentions(acceptor_.NextRefusal(),
                       "it speaks TLS, or refuses this replica"));
}

TEST_F(TlsIdentity, AllowHookOfTheListenerIsTheDialersMessage) {
  TlsTransportOptions options = cluster_.Options(0x11);
  std::atomic<uint64_t> asked{0};
  options.allow = [&](uint64_t id, const std::string&) {
    asked = id;
    return false;
  };
  ListenWith(options);
  const rocksdb::Status s = Dial(cluster_.NewTransport(0xd1));
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "allow hook refuses replica 00000000000000d1"));
  EXPECT_EQ(asked, 0xd1u);
}

TEST_F(TlsIdentity, AllowHookOfTheDialer) {
  Listen();
  TlsTransportOptions options = cluster_.Options(0xd1);
  options.allow = [&](uint64_t id, const std::string&) { return id != 0x11; };
  const rocksdb::Status s = Dial(cluster_.NewTransport(options));
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "replica 0000000000000011"));
}

class TlsFiles : public ::testing::Test {
 protected:
  rocksdb::Status New(const TlsTransportOptions& options) {
    std::shared_ptr<Transport> transport;
    const rocksdb::Status s = NewTlsTransport(options, &transport);
    EXPECT_FALSE(s.ok());
    EXPECT_EQ(transport, nullptr);
    return s;
  }
  TestCluster cluster_;
};

TEST_F(TlsFiles, MissingOptionsAreNamed) {
  TlsTransportOptions options;
  EXPECT_TRUE(Mentions(New(options), "ca_file"));
  options.ca_file = "x";
  EXPECT_TRUE(Mentions(New(options), "certificate_file"));
  options.certificate_file = "x";
  EXPECT_TRUE(Mentions(New(options), "private_key_file"));
  options = cluster_.Options(1);
  options.limits.max_handshakes = 0;
  EXPECT_TRUE(Mentions(New(options), "SocketLimits::max_handshakes"));
}

TEST_F(TlsFiles, UnreadablePathsAreNamed) {
  const std::string nowhere = cluster_.scratch() / "nowhere.pem";
  for (auto member :
       {&TlsTransportOptions::ca_file, &TlsTransportOptions::certificate_file,
        &TlsTransportOptions::private_key_file}) {
    TlsTransportOptions options = cluster_.Options(1);
    options.*member = nowhere;
    const rocksdb::Status s = New(options);
    EXPECT_TRUE(s.IsIOError()) << s.ToString();
    EXPECT_TRUE(Mentions(s, nowhere));
    EXPECT_TRUE(Mentions(s, "No such file"));
  }
}

TEST_F(TlsFiles, WhatIsNoPemIsNamed) {
  const std::string noise = cluster_.scratch() / "noise";
  std::ofstream(noise) << "not a certificate\n";
  for (auto member :
       {&TlsTransportOptions::ca_file, &TlsTransportOptions::certificate_file,
        &TlsTransportOptions::private_key_file}) {
    TlsTransportOptions options = cluster_.Options(1);
    options.*member = noise;
    const rocksdb::Status s = New(options);
    EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
    EXPECT_TRUE(Mentions(s, noise));
  }
}

TEST_F(TlsFiles, KeyOfAnotherCertificate) {
  TlsTransportOptions options = cluster_.Options(1);
  options.private_key_file = cluster_.scratch() / "other.key";
  ASSERT_TRUE(
      WritePrivateKey(cluster_.Issue(2).key.get(), options.private_key_file)
          .ok());
  EXPECT_TRUE(Mentions(New(options), "does not belong to certificate"));
}

TEST_F(TlsFiles, OwnCertificateExpiredOrOfAnotherCaOrNameless) {
  TlsTransportOptions options =
      cluster_.Files(cluster_.Issue({.common_name = "old",
                                     .uri = ReplicaUri(1),
                                     .not_after = std::chrono::seconds(-60)}));
  rocksdb::Status s = New(options);
  EXPECT_EQ(s.code(), rocksdb::Status::kExpired) << s.ToString();
  EXPECT_TRUE(
      Mentions(s, "certificate " + options.certificate_file + " has expired"));
  EXPECT_TRUE(Mentions(s,
                       "`rocksync certificate --ca ca.pem --ca-key ca.key "
                       "--output " +
                           (cluster_.scratch() / "")));
  EXPECT_FALSE(Mentions(s, ".pem`"));

  const TestCluster other;
  options = cluster_.Files(other.Issue(1));
  EXPECT_TRUE(Mentions(New(options),
                       "not valid under the CA in " + cluster_.ca_file()));

  options = cluster_.Files(cluster_.Issue({.common_name = "x", .uri = ""}));
  EXPECT_TRUE(Mentions(New(options), "rocksync:replica:<16 hex digits>"));
}

TEST_F(TlsFiles, TheCaHasExpired) {
  const TestCluster over(std::chrono::seconds(-60));
  const rocksdb::Status s = New(over.Options(1));
  EXPECT_EQ(s.code(), rocksdb::Status::kExpired) << s.ToString();
  EXPECT_TRUE(Mentions(s, "the CA in " + over.ca_file() + " has expired"));
  EXPECT_TRUE(Mentions(s, "make a new CA"));
}

TEST_F(TlsFiles, OwnCertificateMustBeForClientsAndServers) {
  CertificateRequest request{.common_name = "x", .uri = ReplicaUri(1)};
  for (const char* usage : {"serverAuth", "clientAuth", "emailProtection"}) {
    request.extended_key_usage = usage;
    const TlsTransportOptions options = cluster_.Files(cluster_.Issue(request));
    const rocksdb::Status s = New(options);
    EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
    EXPECT_TRUE(Mentions(s, options.certificate_file));
    EXPECT_TRUE(Mentions(s, "extendedKeyUsage = serverAuth, clientAuth"));
  }
  request.extended_key_usage = "";
  EXPECT_NE(cluster_.NewTransport(cluster_.Files(cluster_.Issue(request))),
            nullptr);
}

}  // namespace
}  // namespace rocksync
