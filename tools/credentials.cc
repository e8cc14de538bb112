#include "tools/credentials.h"

#include <algorithm>

#include "rocksdb/env.h"
#include "rocksync/trial_certificates.h"

namespace rocksync {
namespace {

// "operator"
constexpr uint64_t kTrialOperatorId = 0x6f70657261746f72;

}  // namespace

rocksdb::Status ReadClusterSecret(const Credentials& credentials,
                                  ClusterSecret* secret) {
  const std::string file = credentials.trial_directory.empty()
                               ? credentials.secret_file
                               : credentials.trial_directory + "/trial-secret";
  if (file.empty()) {
    return rocksdb::Status::InvalidArgument(
        "no secret", "give --certificates DIR or --secret FILE");
  }
  std::string bytes;
  const rocksdb::Status status =
      rocksdb::ReadFileToString(rocksdb::Env::Default(), file, &bytes);
  if (!status.ok()) return status;
  if (bytes.size() != secret->size()) {
    return rocksdb::Status::InvalidArgument(
        file, "a cluster's secret has exactly 32 bytes");
  }
  std::copy(bytes.begin(), bytes.end(), secret->begin());
  return status;
}

rocksdb::Status MakeTarget(const Credentials& credentials,
                           InquiryTarget* target) {
  target->cluster = credentials.cluster;
  rocksdb::Status status = ReadClusterSecret(credentials, &target->secret);
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
  }
  return NewTlsTransport(tls, &target->transport);
}

}  // namespace rocksync
