#include "rocksync/trial_certificates.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "replication/transport/certificate.h"
#include "replication/transport/certificates_lock.h"
#include "replication/transport/identity.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

constexpr std::chrono::seconds kCaLifetime{10 * 365 * 24 * 3600};

rocksdb::Status MakeDirectory(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST) {
    return rocksdb::Status::OK();
  }
  return rocksdb::Status::IOError("cannot make directory " + directory,
                                  std::strerror(errno));
}

bool Exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

rocksdb::Status ReadOrMakeCa(const std::string& directory,
                             CertificateAndKey* ca) {
  const std::string certificate = directory + "/trial-ca.pem";
  const std::string key = directory + "/trial-ca.key";
  // The certificate is written last: if it is there, so is the key.
  if (Exists(certificate)) {
    rocksdb::Status s = ReadCertificate(certificate, &ca->certificate);
    return s.ok() ? ReadPrivateKey(key, &ca->key) : s;
  }
  CertificateRequest request;
  request.common_name = "rocksync trial CA";
  request.not_after = kCaLifetime;
  rocksdb::Status s = MakeCa(request, ca);
  if (s.ok()) s = WritePrivateKey(ca->key.get(), key);
  if (s.ok()) s = WriteCertificate(ca->certificate.get(), certificate);
  return s;
}

}  // namespace

rocksdb::Status MakeTrialCertificate(const std::string& directory,
                                     uint64_t replica_id,
                                     TrialCertificate* certificate) {
  if (replica_id == 0) {
    return rocksdb::Status::InvalidArgument("replica id 0 is no replica's");
  }
  if (directory.empty()) {
    return rocksdb::Status::InvalidArgument(
        "the name of the directory of trial certificates is empty",
        "give the directory that all replicas of the trial use");
  }
  rocksdb::Status s = MakeDirectory(directory);
  CertificatesLock lock;
  if (s.ok()) s = lock.Acquire(directory);
  CertificateAndKey ca;
  if (s.ok()) s = ReadOrMakeCa(directory, &ca);
  CertificateRequest request;
  request.common_name = "rocksync replica " + ReplicaIdHex(replica_id);
  request.uri = ReplicaUri(replica_id);
  const std::string stem = directory + "/replica-" + ReplicaIdHex(replica_id);
  CertificateAndKey issued;
  // A key that is there stays, so that a process that reads the two files
  // meanwhile finds a pair. Otherwise IssueCertificate makes a new key.
  const bool has_key = ReadPrivateKey(stem + ".key", &issued.key).ok();
  if (s.ok()) s = IssueCertificate(ca, request, &issued);
  certificate->ca_file = directory + "/trial-ca.pem";
  certificate->certificate_file = stem + ".pem";
  certificate->private_key_file = stem + ".key";
  if (s.ok() && !has_key) s = WritePrivateKey(issued.key.get(), stem + ".key");
  if (s.ok()) s = WriteCertificate(issued.certificate.get(), stem + ".pem");
  return s;
}

}  // namespace rocksync
