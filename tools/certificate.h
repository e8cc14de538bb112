// rocksync certificate: the certificates of a cluster.

#ifndef ROCKSYNC_TOOLS_CERTIFICATE_H_
#define ROCKSYNC_TOOLS_CERTIFICATE_H_

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace rocksync {

struct CertificateOptions {
  std::string ca_file;  // PEM
  std::string ca_key_file;
  // Makes the CA, under this name; its files must not be there yet.
  std::string make_ca;
  // Makes STEM.pem and STEM.key; or renews STEM.pem for the key there, if it is
  // the certificate of this replica, of a CA in `ca_file`. What else is there
  // is not replaced.
  std::string stem;
  // 16 hex digits; empty: that of the certificate which is renewed, else a
  // random one, for an operator's tools.
  std::string replica_id;
  // From 1 to 36 500; none: ten years for a CA, one for a certificate.
  std::optional<uint64_t> days;
};

// Says what it made. A certificate that would outlive its CA, which nobody
// would accept any more, ends with it; a warning on `err` says so. Returns 0,
// or 2 with the reason on `err`; then no file was replaced or removed that was
// there before.
int RunCertificate(const CertificateOptions& options, std::ostream& out,
                   std::ostream& err);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_CERTIFICATE_H_
