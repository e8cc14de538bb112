// Certificates for demos, tests and first steps: a CA in a directory, and a
// certificate for each replica. FOR TRIALS ONLY: the CA's private key lies
// unencrypted beside the certificates, so whoever reads the directory can be
// any replica. In production the CA's key is not on the replicas' machines.

#ifndef ROCKSYNC_TRIAL_CERTIFICATES_H_
#define ROCKSYNC_TRIAL_CERTIFICATES_H_

#include <cstdint>
#include <string>

#include "rocksdb/status.h"

namespace rocksync {

// Paths, to be put into TlsTransportOptions.
struct TrialCertificate {
  std::string ca_file;
  std::string certificate_file;
  std::string private_key_file;
};

// Makes `directory` (mode 0700) and a CA in it unless they are there already,
// and a certificate for `replica_id` signed by that CA, valid for 30 days from
// an hour ago. An existing one of that replica is replaced, and its key stays.
// Private keys have mode 0600. Processes that do this for one directory at the
// same time get one CA.
//   directory/trial-ca.pem           certificate of the CA
//   directory/trial-ca.key           its private key
//   directory/replica-<16 hex digits>.pem, .key
//
// InvalidArgument: replica_id is 0. IOError names the file.
rocksdb::Status MakeTrialCertificate(const std::string& directory,
                                     uint64_t replica_id,
                                     TrialCertificate* certificate);

}  // namespace rocksync

#endif  // ROCKSYNC_TRIAL_CERTIFICATES_H_
