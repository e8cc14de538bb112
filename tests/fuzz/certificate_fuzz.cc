// The replica that a certificate names, of any bytes that OpenSSL takes for a
// certificate: a peer shows one before it has proven anything.

#include <openssl/x509.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "replication/transport/identity.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const unsigned char* at = data;
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      d2i_X509(nullptr, &at, static_cast<long>(size)), &X509_free);
  if (certificate == nullptr) return 0;
  uint64_t id = 0;
  const rocksdb::Status status = rocksync::ReplicaIdOf(certificate.get(), &id);
  if (status.ok() == (id == 0)) std::abort();
  return 0;
}
