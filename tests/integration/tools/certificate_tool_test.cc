// `rocksync certificate`: what it makes lets replicas talk.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>

#include "rocksync/tls_transport.h"
#include "tests/support/temporary_directory.h"
#include "tools/certificate.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

class CertificateToolTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.ca_file = root_ / "ca.pem";
    options_.ca_key_file = root_ / "ca.key";
  }

  int Run(const CertificateOptions& options) {
    out_.str("");
    err_.str("");
    return RunCertificate(options, out_, err_);
  }
  int MakeCa() {
    CertificateOptions options = options_;
    options.make_ca = "orders CA";
    return Run(options);
  }
  int Issue(const std::string& name, const std::string& id) {
    CertificateOptions options = options_;
    options.stem = root_ / name;
    options.replica_id = id;
    return Run(options);
  }
  rocksdb::Status NewTransport(const std::string& name,
                               std::shared_ptr<Transport>* transport) {
    TlsTransportOptions options;
    options.ca_file = options_.ca_file;
    options.certificate_file = root_ / (name + ".pem");
    options.private_key_file = root_ / (name + ".key");
    return NewTlsTransport(options, transport);
  }

  const TemporaryDirectory root_;
  CertificateOptions options_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(CertificateToolTest, ReplicasThatHaveThemTalk) {
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  ASSERT_EQ(Issue("a", "00000000000000aa"), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("replica 00000000000000aa"));
  ASSERT_EQ(Issue("operator", ""), 0) << err_.str();
  EXPECT_EQ(fs::status(root_ / "a.key").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);

  std::shared_ptr<Transport> a;
  std::shared_ptr<Transport> tool;
  ASSERT_TRUE(NewTransport("a", &a).ok());
  ASSERT_TRUE(NewTransport("operator", &tool).ok());
  EXPECT_EQ(a->replica_id(), 0xaau);
  EXPECT_NE(tool->replica_id(), 0u);
  ASSERT_TRUE(
      a->Listen("127.0.0.1:0", [](std::unique_ptr<Connection>) {}).ok());
  std::unique_ptr<Connection> connection;
  const rocksdb::Status status = tool->Connect(
      a->listen_address(), std::chrono::seconds(10), nullptr, &connection);
  EXPECT_TRUE(status.ok()) << status.ToString();
  a->StopListening();
}

TEST_F(CertificateToolTest, WhatIsRefused) {
  EXPECT_EQ(Run(options_), 2);
  EXPECT_THAT(err_.str(), HasSubstr("nothing to make"));
  EXPECT_EQ(Issue("a", "00000000000000aa"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("ca.pem"));
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  EXPECT_EQ(MakeCa(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("there already"));
  for (const char* id :
       {"aa", "0000000000000000", "00000000000000ag", "00000000000000aa0"}) {
    EXPECT_EQ(Issue("a", id), 2) << id;
    EXPECT_THAT(err_.str(), HasSubstr("is no replica id"));
  }
  EXPECT_FALSE(fs::exists(root_ / "a.pem"));
}

}  // namespace
}  // namespace rocksync
