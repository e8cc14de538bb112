#include "tools/credentials.h"

#include <chrono>
#include <ostream>

#include "replication/store/directory/directory_switch.h"
#include "replication/transport/address.h"
#include "replication/transport/may_read.h"
#include "rocksdb/env.h"
#include "rocksync/cluster_secret.h"
#include "rocksync/trial_certificates.h"
#include "tools/secret/open_to_all.h"

namespace rocksync {
namespace {

// "operator"
constexpr uint64_t kTrialOperatorId = 0x6f70657261746f72;

// A certificate of a CA that no replica knows helps nobody, so none is made.
rocksdb::Status CheckTrialDirectory(const std::string& directory) {
  if (directory.empty()) return rocksdb::Status::OK();
  const std::string ca = directory + "/trial-ca.pem";
  const rocksdb::Status status = CheckUserMayRead(ca);
  if (!status.ok() || rocksdb::Env::Default()->FileExists(ca).ok()) {
    return status;
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
  const rocksdb::Status status = ReadClusterSecret(file, secret);
  if (of_trial && status.IsPathNotFound()) {
    const rocksdb::Status directory =
        CheckTrialDirectory(credentials.trial_directory);
    if (!directory.ok()) return directory;
    return rocksdb::Status::InvalidArgument(
        file + " is not there",
        "it holds the cluster's secret, and rocksync-store alone makes it; "
        "give "
        "--secret FILE, with the 32 bytes that the program has as its "
        "cluster_secret");
  }
  return status;
}

void WarnOfOpenFiles(const Credentials& credentials, std::ostream& err) {
  for (const std::string& file :
       {credentials.tls.private_key_file, credentials.secret_file}) {
    WarnIfOpenToAll(file, err);
  }
}

void WarnIfOpenToAll(const std::string& file, std::ostream& err) {
  if (!IsOpenToAll(file)) return;
  err << "rocksync: warning: every user of this machine may read " << file
      << "; chmod o= " << file << "\n";
}

rocksdb::Status CheckAddress(const std::string& where, bool or_directory) {
  HostPort parsed;
  if (ParseAddress(where, &parsed).ok()) return rocksdb::Status::OK();
  if (or_directory) {
    const rocksdb::Status status =
        CheckNoSwitchIsLeft(rocksdb::Env::Default(), where);
    if (!status.ok()) return status;
  }
  return rocksdb::Status::InvalidArgument(
      "\"" + where + "\"",
      or_directory ? "is neither a directory nor host:port, as 10.0.0.1:7400"
                   : "is not host:port, as 10.0.0.1:7400");
}

rocksdb::Status UseTrialCertificate(const std::string& directory,
                                    uint64_t replica_id,
                                    TlsTransportOptions* tls) {
  TrialCertificate certificate;
  const rocksdb::Status status =
      MakeTrialCertificate(directory, replica_id, &certificate);
  tls->ca_file = certificate.ca_file;
  tls->certificate_file = certificate.certificate_file;
  tls->private_key_file = certificate.private_key_file;
  return status;
}

rocksdb::Status MakeReplicaTransport(const Credentials& credentials,
                                     uint64_t trial_id,
                                     std::shared_ptr<Transport>* transport) {
  if (!credentials.trial_directory.empty()) {
    TlsTransportOptions tls = credentials.tls;
    const rocksdb::Status status =
        UseTrialCertificate(credentials.trial_directory, trial_id, &tls);
    return status.ok() ? NewTlsTransport(tls, transport) : status;
  }
  AdminTarget target;
  const rocksdb::Status status = MakeTarget(credentials, &target);
  if (status.ok()) *transport = target.transport;
  return status;
}

rocksdb::Status MakeTarget(const Credentials& credentials,
                           AdminTarget* target) {
  target->cluster = credentials.cluster;
  target->timeout = std::chrono::milliseconds(credentials.peer_timeout_ms);
  rocksdb::Status status = CheckTrialDirectory(credentials.trial_directory);
  if (status.ok()) status = ReadClusterSecret(credentials, &target->secret);
  if (!status.ok()) return status;
  TlsTransportOptions tls = credentials.tls;
  if (!credentials.trial_directory.empty()) {
    status = UseTrialCertificate(credentials.trial_directory, kTrialOperatorId,
                                 &tls);
    if (!status.ok()) return status;
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
