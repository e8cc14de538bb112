#include "replication/transport/certificate.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>
#include <vector>

#include "replication/transport/identity.h"
#include "rocksync/replica_id.h"
#include "rocksync/tls_transport.h"
#include "rocksync/trial_certificates.h"
#include "tests/support/file_content.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {
namespace {

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

TEST(TrialCertificates, NameTheReplicaAndGuardTheKeys) {
  const TemporaryDirectory scratch;
  const std::string directory = scratch / "trial";
  TrialCertificate made;
  ASSERT_TRUE(MakeTrialCertificate(directory, 0xabc, &made).ok());
  EXPECT_EQ(made.certificate_file, directory + "/replica-0000000000000abc.pem");
  uint64_t id = 0;
  ASSERT_TRUE(ReadReplicaId(made.certificate_file, &id).ok());
  EXPECT_EQ(id, 0xabcu);
  EXPECT_EQ(ModeOf(directory), 0700u);
  EXPECT_EQ(ModeOf(made.private_key_file), 0600u);
  EXPECT_EQ(ModeOf(directory + "/trial-ca.key"), 0600u);
  EXPECT_EQ(ModeOf(made.certificate_file), 0644u);
}

TEST(TrialCertificates, OneCaPerDirectoryWhoeverComesFirst) {
  const TemporaryDirectory scratch;
  std::vector<std::thread> threads;
  for (uint64_t id = 1; id <= 4; ++id) {
    threads.emplace_back([&scratch, id] {
      TrialCertificate made;
      EXPECT_TRUE(MakeTrialCertificate(scratch.path(), id, &made).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string ca = FileContent(scratch / "trial-ca.pem");
  TrialCertificate made;
  ASSERT_TRUE(MakeTrialCertificate(scratch.path(), 1, &made).ok());
  EXPECT_EQ(FileContent(made.ca_file), ca);
  for (uint64_t id = 1; id <= 4; ++id) {
    TlsTransportOptions options;
    options.ca_file = made.ca_file;
    const std::string stem = scratch / ("replica-" + ReplicaIdHex(id));
    options.certificate_file = stem + ".pem";
    options.private_key_file = stem + ".key";
    std::shared_ptr<Transport> transport;
    EXPECT_TRUE(NewTlsTransport(options, &transport).ok()) << id;
  }
}

// Who reads the two files meanwhile finds a pair: tools share one, and each
// makes it.
TEST(TrialCertificates, AReplacedCertificateKeepsItsKey) {
  const TemporaryDirectory scratch;
  TrialCertificate made;
  ASSERT_TRUE(MakeTrialCertificate(scratch.path(), 1, &made).ok());
  const std::string certificate = FileContent(made.certificate_file);
  const std::string key = FileContent(made.private_key_file);
  ASSERT_TRUE(MakeTrialCertificate(scratch.path(), 1, &made).ok());
  EXPECT_NE(FileContent(made.certificate_file), certificate);
  EXPECT_EQ(FileContent(made.private_key_file), key);
}

TEST(TrialCertificates, ErrorsNameTheFile) {
  const TemporaryDirectory scratch;
  TrialCertificate made;
  EXPECT_TRUE(
      MakeTrialCertificate(scratch.path(), 0, &made).IsInvalidArgument());
  const std::string under_a_file = scratch / "file/below";
  std::ofstream(scratch / "file") << "x";
  const rocksdb::Status s = MakeTrialCertificate(under_a_file, 1, &made);
  EXPECT_TRUE(s.IsIOError());
  EXPECT_NE(s.ToString().find(under_a_file), std::string::npos);
}

class Identity : public ::testing::Test {
 protected:
  Identity() {
    EXPECT_TRUE(MakeCa({.common_name = "test CA", .uri = ""}, &ca_).ok());
  }
  rocksdb::Status IdOf(const std::string& uri, uint64_t* id) {
    CertificateAndKey made;
    EXPECT_TRUE(
        IssueCertificate(ca_, {.common_name = "x", .uri = uri}, &made).ok());
    return ReplicaIdOf(made.certificate.get(), id);
  }
  CertificateAndKey ca_;
};

TEST_F(Identity, RoundTrip) {
  for (const uint64_t id : {uint64_t{1}, uint64_t{0xfedcba9876543210}}) {
    uint64_t found = 0;
    ASSERT_TRUE(IdOf(ReplicaUri(id), &found).ok());
    EXPECT_EQ(found, id);
  }
  EXPECT_EQ(ReplicaUri(0x1f), "rocksync:replica:000000000000001f");
}

TEST_F(Identity, RefusesAnythingElse) {
  for (const char* uri :
       {"", "https://example.org",
        "rocksync:replica:", "rocksync:replica:0000000000000000",
        "rocksync:replica:123", "rocksync:replica:00000000000000123",
        "rocksync:replica:000000000000001g",
        "rocksync:replica:-00000000000001f",
        "rocksync:replica:0000000000000001,URI:rocksync:replica:"
        "0000000000000002"}) {
    uint64_t found = 0;
    const rocksdb::Status s = IdOf(uri, &found);
    EXPECT_TRUE(s.IsInvalidArgument()) << uri;
    EXPECT_NE(s.ToString().find("URI:rocksync:replica:<16 hex digits>"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace rocksync
