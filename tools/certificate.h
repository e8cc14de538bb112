// rocksync certificate: the certificates of a cluster.

#ifndef ROCKSYNC_TOOLS_CERTIFICATE_H_
#define ROCKSYNC_TOOLS_CERTIFICATE_H_

#include <cstdint>
#include <iosfwd>
#include <string>

namespace rocksync {

struct CertificateOptions {
  std::string ca_file;  // PEM
  std::string ca_key_file;
  // Makes the CA, under this name; its files must not be there yet.
  std::string make_ca;
  // Makes STEM.pem and STEM.key, or replaces them.
  std::string stem;
  // 16 hex digits; empty: a random one, for an operator's tools.
  std::string replica_id;
  uint64_t days = 0;  // 0: ten years for a CA, one for a certificate
};

// Says what it made. Returns 0, or 2 with the reason on `err`.
int RunCertificate(const CertificateOptions& options, std::ostream& out,
                   std::ostream& err);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_CERTIFICATE_H_
