#include "tools/credentials.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "replication/transport/address.h"
#include "rocksdb/env.h"
#include "rocksync/trial_certificates.h"

namespace rocksync {
namespace {

// "operator"
constexpr uint64_t kTrialOperatorId = 0x6f70657261746f72;

// More than anybody takes for a secret: in hex it has 64, or 65.
constexpr size_t kMostSecretBytes = 1024;

// Its first bytes, one more than that at most: what is no regular file may have
// no end.
rocksdb::Status ReadSecretFile(const std::string& file, std::string* bytes) {
  std::unique_ptr<rocksdb::SequentialFile> reader;
  rocksdb::Status status = rocksdb::Env::Default()->NewSequentialFile(
      file, &reader, rocksdb::EnvOptions());
  bytes->resize(kMostSecretBytes + 1);
  rocksdb::Slice read;
  if (status.ok()) status = reader->Read(bytes->size(), &read, bytes->data());
  *bytes = read.ToString();
  return status;
}

// A certificate of a CA that no replica knows helps nobody, so none is made.
rocksdb::Status CheckTrialDirectory(const std::string& directory) {
  if (directory.empty() ||
      rocksdb::Env::Default()->FileExists(directory + "/trial-ca.pem").ok()) {
    return rocksdb::Status::OK();
  }
  return rocksdb::Status::InvalidArgument(
      directory + " holds no trial-ca.pem",
      "give the directory that the replicas use");
}

}  // namespace

rocksdb::Status ReadClusterSecret(const Credentials& credentials,
                                  ClusterSecret* secret) {
  const bool of_trial =
      credentials.secret_file.empty() && !credentials.trial_directory.empty();
  const std::string file = of_trial
                               ? credentials.trial_directory + "/trial-secret"
                               : credentials.secret_file;
  if (file.empty()) {
    return rocksdb::Status::InvalidArgument(
        "no cluster secret",
        "pass --secret FILE or, for trials, --certificates DIR");
  }
  std::string bytes;
  const rocksdb::Status status = ReadSecretFile(file, &bytes);
  if (of_trial && status.IsPathNotFound()) {
    const rocksdb::Status directory =
        CheckTrialDirectory(credentials.trial_directory);
    if (!directory.ok()) return directory;
    return rocksdb::Status::InvalidArgument(
        file + " is not there",
        "only rocksync-store makes it; give --secret FILE");
  }
  if (!status.ok()) return status;
  if (bytes.size() != secret->size()) {
    const bool all = bytes.size() <= kMostSecretBytes;
    return rocksdb::Status::InvalidArgument(
        file + " has " + (all ? "" : "more than ") +
            std::to_string(all ? bytes.size() : kMostSecretBytes) + " bytes",
        "32 raw bytes are needed (not hex, no newline)");
  }
  std::copy(bytes.begin(), bytes.end(), secret->begin());
  return status;
}

void WarnOfOpenFiles(const Credentials& credentials, std::ostream& err) {
  for (const std::string& file :
       {credentials.tls.private_key_file, credentials.secret_file}) {
    struct stat status = {};
    if (!file.empty() && ::stat(file.c_str(), &status) == 0 &&
        S_ISREG(status.st_mode) && (status.st_mode & S_IROTH) != 0) {
      err << "rocksync: warning: every user of this machine may read " << file
          << "; chmod o= " << file << "\n";
    }
  }
}

rocksdb::Status CheckAddress(const std::string& where, bool or_directory) {
  HostPort parsed;
  if (ParseAddress(where, &parsed).ok()) return rocksdb::Status::OK();
  return rocksdb::Status::InvalidArgument(
      where, or_directory ? "is neither a directory nor host:port"
                          : "is not host:port");
}

rocksdb::Status MakeTarget(const Credentials& credentials,
                           AdminTarget* target) {
  target->cluster = credentials.cluster;
  rocksdb::Status status = CheckTrialDirectory(credentials.trial_directory);
  if (status.ok()) status = ReadClusterSecret(credentials, &target->secret);
  if (!status.ok()) return status;
  TlsTransportOptions tls = credentials.tls;
  if (!credentials.trial_directory.empty()) {
    TrialCertificate certificate;
    status = MakeTrialCertificate(credentials.trial_directory, kTrialOperatorId,
                                  &certificate);
    if (!status.ok()) return status;
    tls.ca_file = certificate.ca_file;
    tls.certificate_file = certificate.certificate_file;
    tls.private_key_file = certificate.private_key_file;
  } else if (tls.ca_file.empty() || tls.certificate_file.empty() ||
             tls.private_key_file.empty()) {
    return rocksdb::Status::InvalidArgument(
        "a running replica is asked with a certificate of the cluster's CA",
        "give --ca, --certificate and --private-key; or, for trials, "
        "--certificates DIR");
  }
  return NewTlsTransport(tls, &target->transport);
}

}  // namespace rocksync
