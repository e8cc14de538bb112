// The transport of a replica of a test or benchmark, with a trial certificate.

#ifndef ROCKSYNC_TESTS_SUPPORT_TRIAL_TRANSPORT_H_
#define ROCKSYNC_TESTS_SUPPORT_TRIAL_TRANSPORT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "rocksdb/status.h"
#include "rocksync/tls_transport.h"
#include "rocksync/transport.h"
#include "rocksync/trial_certificates.h"

namespace rocksync {

// Over TLS, as replica `id`; its certificate is made in `certificates`.
inline rocksdb::Status NewTrialTransport(
    const std::string& certificates, uint64_t id,
    std::shared_ptr<Transport>* transport) {
  TrialCertificate files;
  const rocksdb::Status status = MakeTrialCertificate(certificates, id, &files);
  if (!status.ok()) return status;
  TlsTransportOptions tls;
  tls.ca_file = files.ca_file;
  tls.certificate_file = files.certificate_file;
  tls.private_key_file = files.private_key_file;
  return NewTlsTransport(tls, transport);
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_TRIAL_TRANSPORT_H_
