// `rocksync certificate`: what it makes lets replicas talk.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "replication/transport/certificate.h"
#include "replication/transport/openssl.h"
#include "rocksync/tls_transport.h"
#include "tests/support/file_content.h"
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
  EXPECT_THAT(out_.str(), HasSubstr(".key: id 00000000000000aa"));
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
  EXPECT_THAT(err_.str(), HasSubstr("ca.pem is not there: make the CA first: "
                                    "--make-ca NAME"));
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  EXPECT_EQ(MakeCa(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("there already"));
  for (const char* id :
       {"aa", "0000000000000000", "00000000000000ag", "00000000000000aa0"}) {
    EXPECT_EQ(Issue("a", id), 2) << id;
    EXPECT_THAT(err_.str(), HasSubstr("is no replica id"));
  }
  EXPECT_FALSE(fs::exists(root_ / "a.pem"));
  EXPECT_EQ(Issue("nowhere/a", "00000000000000aa"), 2);
  EXPECT_THAT(err_.str(), HasSubstr(root_ / "nowhere"));
  EXPECT_THAT(err_.str(), HasSubstr("mkdir -p"));
}

TEST_F(CertificateToolTest, NeitherTheCaNorAnotherReplicaIsOverwritten) {
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  ASSERT_EQ(Issue("a", "00000000000000aa"), 0) << err_.str();
  fs::create_symlink(root_ / "ca.key", root_ / "link.key");
  std::ofstream(root_ / "lone.key") << "somebody's key";
  std::ofstream(root_ / "text.pem") << "somebody's text";
  const auto before = ContentOfFiles(root_.path());
  for (const auto& [name, id, why] : std::vector<std::array<std::string, 3>>{
           {"ca", "00000000000000bb", "are one file"},
           {"./ca", "", "are one file"},
           {"link", "", "are one file"},
           {"a", "00000000000000bb", "certificate of replica"},
           {"a.pem", "", "both files without their ends"},
           {"a.key", "", "both files without their ends"},
           {"./", "", "both files without their ends"},
           {"lone", "", "lone.key is there already"},
           {"text", "", "no replica's certificate"}}) {
    EXPECT_EQ(Issue(name, id), 2) << name;
    EXPECT_THAT(err_.str(), HasSubstr(why));
    EXPECT_EQ(ContentOfFiles(root_.path()), before) << name;
  }
  // A CA whose certificate would lie in its key's place, or in another CA's.
  CertificateOptions options;
  options.make_ca = "new";
  options.ca_file = options.ca_key_file = root_ / "new.pem";
  EXPECT_EQ(Run(options), 2);
  EXPECT_THAT(err_.str(), HasSubstr("are one file"));
  options.ca_key_file = root_ / "lone.key";
  EXPECT_EQ(Run(options), 2);
  EXPECT_THAT(err_.str(), HasSubstr("there already"));
  EXPECT_EQ(ContentOfFiles(root_.path()), before);
}

TEST_F(CertificateToolTest, RenewsWhatIsTheReplicasOwn) {
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  ASSERT_EQ(Issue("a", "00000000000000aa"), 0) << err_.str();
  const auto before = ContentOfFiles(root_.path());
  ASSERT_EQ(Issue("a", "00000000000000aa"), 0) << err_.str();
  EXPECT_NE(ContentOfFiles(root_.path()), before);
  ASSERT_EQ(Issue("a", ""), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr(".key: id 00000000000000aa"));
  std::shared_ptr<Transport> a;
  ASSERT_TRUE(NewTransport("a", &a).ok());
  EXPECT_EQ(a->replica_id(), 0xaau);
}

// A service reads the file as a member of its group.
TEST_F(CertificateToolTest, RenewalKeepsModesAndOwners) {
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  ASSERT_EQ(Issue("a", "00000000000000aa"), 0) << err_.str();
  const std::string file = root_ / "a.pem";
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  const bool is_root = ::geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(::chown(file.c_str(), 12345, 23456), 0);
  }
  ASSERT_EQ(Issue("a", ""), 0) << err_.str();
  struct stat renewed;
  ASSERT_EQ(::stat(file.c_str(), &renewed), 0);
  EXPECT_EQ(renewed.st_mode & 0777, 0640u);
  if (is_root) {
    EXPECT_EQ(renewed.st_uid, 12345u);
    EXPECT_EQ(renewed.st_gid, 23456u);
  }
}

// However a renewal is interrupted, the two files are a pair.
TEST_F(CertificateToolTest, RenewalKeepsTheKey) {
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  ASSERT_EQ(Issue("a", "00000000000000aa"), 0) << err_.str();
  auto before = ContentOfFiles(root_.path());
  ASSERT_EQ(Issue("a", ""), 0) << err_.str();
  auto after = ContentOfFiles(root_.path());
  EXPECT_NE(after["a.pem"], before["a.pem"]);
  EXPECT_EQ(after["a.key"], before["a.key"]);

  // Where it is lost there is a new one, with a new certificate.
  fs::remove(root_ / "a.key");
  EXPECT_EQ(Issue("a", ""), 2);
  fs::remove(root_ / "a.pem");
  ASSERT_EQ(Issue("a", "00000000000000aa"), 0) << err_.str();
  std::shared_ptr<Transport> a;
  EXPECT_TRUE(NewTransport("a", &a).ok());
}

TEST_F(CertificateToolTest, RunsAtTheSameTimeTakeTurns) {
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  std::vector<std::thread> threads;
  std::array<std::string, 8> errors;
  for (std::string& error : errors) {
    threads.emplace_back([&] {
      CertificateOptions options = options_;
      options.stem = root_ / "a";
      options.replica_id = "00000000000000aa";
      std::ostringstream out;
      std::ostringstream err;
      RunCertificate(options, out, err);
      error = err.str();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, testing::Each(""));
  std::shared_ptr<Transport> a;
  EXPECT_TRUE(NewTransport("a", &a).ok());
}

TEST_F(CertificateToolTest, WhatAKilledRunLeftIsNamedOrRemoved) {
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  ASSERT_EQ(Issue("a", "00000000000000aa"), 0) << err_.str();
  const std::vector<std::string> drafts = {"a.pem.rocksync-draft",
                                           "a.key.rocksync-draft"};
  for (const std::string& draft : drafts) std::ofstream(root_ / draft) << "-";
  ASSERT_EQ(Issue("a", ""), 0) << err_.str();
  for (const std::string& draft : drafts) {
    EXPECT_FALSE(fs::exists(root_ / draft)) << draft;
  }
  // Killed after the key and before the certificate.
  fs::remove(root_ / "ca.pem");
  fs::remove(root_ / "a.pem");
  EXPECT_EQ(MakeCa(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("ca.key is there already, without"));
  EXPECT_THAT(err_.str(), HasSubstr("move it away, and try again"));
  fs::remove(root_ / "ca.key");
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  EXPECT_EQ(Issue("a", ""), 2);
  EXPECT_THAT(err_.str(), HasSubstr("a.key is there already, without"));
  EXPECT_THAT(err_.str(), HasSubstr("put the certificate beside it"));
}

TEST_F(CertificateToolTest, AKeyOfTheCaThatAllMayReadIsNamed) {
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  EXPECT_EQ(err_.str(), "");
  fs::permissions(root_ / "ca.key", fs::perms::others_read,
                  fs::perm_options::add);
  ASSERT_EQ(Issue("a", "00000000000000aa"), 0) << err_.str();
  EXPECT_THAT(err_.str(), HasSubstr("may read " + (root_ / "ca.key")));
}

TEST_F(CertificateToolTest, AnEncryptedKeyOfTheCaIsCalledThat) {
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  const std::string file = root_ / "ca.key";
  PkeyPtr key;
  ASSERT_TRUE(ReadPrivateKey(file, &key).ok());
  for (const bool traditional : {false, true}) {
    BioPtr bio(BIO_new_file(file.c_str(), "w"));
    const auto* const pass = reinterpret_cast<const unsigned char*>("pass");
    ASSERT_EQ(traditional ? PEM_write_bio_PrivateKey_traditional(
                                bio.get(), key.get(), EVP_aes_256_cbc(), pass,
                                4, nullptr, nullptr)
                          : PEM_write_bio_PrivateKey(bio.get(), key.get(),
                                                     EVP_aes_256_cbc(), pass, 4,
                                                     nullptr, nullptr),
              1);
    bio.reset();
    EXPECT_EQ(Issue("a", "00000000000000aa"), 2);
    EXPECT_THAT(err_.str(), HasSubstr("ca.key is encrypted: decrypt it"));
  }
}

TEST_F(CertificateToolTest, OnlyACertificateOfThisCaIsRenewed) {
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  ASSERT_EQ(Issue("a", "00000000000000aa"), 0) << err_.str();
  fs::rename(root_ / "ca.pem", root_ / "old.pem");
  fs::rename(root_ / "ca.key", root_ / "old.key");
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  const auto before = ContentOfFiles(root_.path());
  EXPECT_EQ(Issue("a", ""), 2);
  EXPECT_THAT(err_.str(), HasSubstr("a.pem is there, of another CA than"));
  EXPECT_THAT(err_.str(), HasSubstr("append that CA to"));
  EXPECT_EQ(ContentOfFiles(root_.path()), before);

  std::ofstream(root_ / "ca.pem", std::ios::app)
      << std::ifstream(root_ / "old.pem").rdbuf();
  ASSERT_EQ(Issue("a", ""), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr(".key: id 00000000000000aa"));
}

TEST_F(CertificateToolTest, AKeyOfAnotherCertificateStays) {
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  ASSERT_EQ(Issue("a", "00000000000000aa"), 0) << err_.str();
  ASSERT_EQ(Issue("b", ""), 0) << err_.str();
  fs::copy_file(root_ / "b.key", root_ / "a.key",
                fs::copy_options::overwrite_existing);
  auto before = ContentOfFiles(root_.path());
  EXPECT_EQ(Issue("a", ""), 2);
  EXPECT_THAT(err_.str(), HasSubstr("a.key is not the private key of"));
  EXPECT_THAT(err_.str(), HasSubstr("move both files away, and new ones"));
  EXPECT_EQ(ContentOfFiles(root_.path()), before);
  std::ofstream(root_ / "a.key") << "no key";
  before = ContentOfFiles(root_.path());
  EXPECT_EQ(Issue("a", ""), 2);
  EXPECT_THAT(err_.str(), HasSubstr("a.key holds no"));
  EXPECT_EQ(ContentOfFiles(root_.path()), before);
}

TEST_F(CertificateToolTest, ACertificateWhoseKeyIsElsewhereStays) {
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  ASSERT_EQ(Issue("a", "00000000000000aa"), 0) << err_.str();
  fs::create_directory(root_ / "private");
  fs::rename(root_ / "a.key", root_ / "private/a.key");
  const auto before = ContentOfFiles(root_.path());
  EXPECT_EQ(Issue("a", ""), 2);
  EXPECT_THAT(err_.str(), HasSubstr("a.pem is there, without"));
  EXPECT_THAT(err_.str(), HasSubstr("move the certificate away"));
  EXPECT_EQ(ContentOfFiles(root_.path()), before);
}

TEST_F(CertificateToolTest, ASymbolicLinkStaysOne) {
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  fs::create_directory(root_ / "store");
  ASSERT_EQ(Issue("store/a", "00000000000000aa"), 0) << err_.str();
  fs::create_symlink("store/a.pem", root_ / "a.pem");
  fs::create_symlink("store/a.key", root_ / "a.key");
  const auto before = ContentOfFiles(root_ / "store");
  ASSERT_EQ(Issue("a", ""), 0) << err_.str();
  EXPECT_TRUE(fs::is_symlink(root_ / "a.pem"));
  EXPECT_TRUE(fs::is_symlink(root_ / "a.key"));
  EXPECT_NE(ContentOfFiles(root_ / "store"), before);
  std::shared_ptr<Transport> a;
  EXPECT_TRUE(NewTransport("a", &a).ok());
}

TEST_F(CertificateToolTest, APipeIsNotWaitedFor) {
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  const std::string pipe = root_ / "pipe.pem";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  CertificateOptions options = options_;
  options.stem = root_ / "a";
  options.ca_file = pipe;
  EXPECT_EQ(Run(options), 2);
  EXPECT_THAT(err_.str(), HasSubstr("pipe.pem is no regular file"));
}

TEST_F(CertificateToolTest, TheNameOfACaIsOneLine) {
  CertificateOptions options = options_;
  for (const char* name : {"orders\nCA", "orders\x1b[1m", "orders\x7f"}) {
    options.make_ca = name;
    EXPECT_EQ(Run(options), 2);
    EXPECT_THAT(err_.str(), HasSubstr("the name has a control character"));
  }
  EXPECT_FALSE(fs::exists(options_.ca_key_file));
}

TEST_F(CertificateToolTest, OnlyACaWithItsOwnKeySigns) {
  ASSERT_EQ(MakeCa(), 0) << err_.str();
  ASSERT_EQ(Issue("a", "00000000000000aa"), 0) << err_.str();
  CertificateOptions options;
  options.ca_file = root_ / "other.pem";
  options.ca_key_file = root_ / "other.key";
  options.make_ca = "other CA";
  ASSERT_EQ(Run(options), 0) << err_.str();

  options.make_ca.clear();
  options.stem = root_ / "b";
  options.ca_key_file = options_.ca_key_file;
  EXPECT_EQ(Run(options), 2);
  EXPECT_THAT(err_.str(), HasSubstr("ca.key is not the private key of the CA"));
  options.ca_file = root_ / "a.pem";
  options.ca_key_file = root_ / "a.key";
  EXPECT_EQ(Run(options), 2);
  EXPECT_THAT(err_.str(), HasSubstr("a.pem is not the certificate of a CA"));
  EXPECT_FALSE(fs::exists(root_ / "b.key"));
}

// A certificate of a CA that is over is accepted by nobody.
TEST_F(CertificateToolTest, NoneOutlivesItsCa) {
  CertificateOptions options = options_;
  options.make_ca = "short CA";
  options.days = 30;
  ASSERT_EQ(Run(options), 0) << err_.str();
  ASSERT_EQ(Issue("a", "00000000000000aa"), 0);
  EXPECT_THAT(err_.str(), HasSubstr("a.pem ends with its CA"));
  const auto ends = [this](const std::string& name) {
    X509Ptr certificate;
    EXPECT_TRUE(ReadCertificate(root_ / name, &certificate).ok());
    return ExpiresMs(certificate.get());
  };
  // Two readings of the clock, each cut to seconds.
  EXPECT_LE(ends("a.pem"), ends("ca.pem") + 1000);
  EXPECT_GE(ends("a.pem"), ends("ca.pem") - 1000);
  std::shared_ptr<Transport> transport;
  const rocksdb::Status made = NewTransport("a", &transport);
  ASSERT_TRUE(made.ok()) << made.ToString();
  EXPECT_THAT(transport->certificate().first_to_expire,
              HasSubstr(ends("a.pem") < ends("ca.pem") ? "the certificate in "
                                                       : "the CA in "));
  options = options_;
  options.stem = root_ / "b";
  options.days = 29;
  ASSERT_EQ(Run(options), 0);
  EXPECT_EQ(err_.str(), "");
  EXPECT_LT(ends("b.pem"), ends("ca.pem"));
}

TEST_F(CertificateToolTest, DaysHaveBounds) {
  CertificateOptions options = options_;
  options.make_ca = "orders CA";
  for (const uint64_t days : {uint64_t{0}, uint64_t{36501}, UINT64_MAX}) {
    options.days = days;
    EXPECT_EQ(Run(options), 2) << days;
    EXPECT_THAT(err_.str(), HasSubstr("must be 1 to 36500"));
  }
  options.days = 36500;
  EXPECT_EQ(Run(options), 0) << err_.str();
  X509Ptr made;
  ASSERT_TRUE(ReadCertificate(options_.ca_file, &made).ok());
  int days = 0;
  int seconds = 0;
  ASSERT_EQ(
      ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(made.get())),
      1);
  EXPECT_GE(days, 36499);
}

}  // namespace
}  // namespace rocksync
