// Owning pointers for OpenSSL's objects, and its latest error as text.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_OPENSSL_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_OPENSSL_H_

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace rocksync {

template <auto Free>
struct OpenSslFree {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

using X509Ptr = std::unique_ptr<X509, OpenSslFree<X509_free>>;
using PkeyPtr = std::unique_ptr<EVP_PKEY, OpenSslFree<EVP_PKEY_free>>;
using BioPtr = std::unique_ptr<BIO, OpenSslFree<BIO_free_all>>;
using GeneralNamesPtr =
    std::unique_ptr<GENERAL_NAMES, OpenSslFree<GENERAL_NAMES_free>>;

// Returns the calling thread's latest OpenSSL error as text, and empties its
// error queue.
inline std::string TakeOpenSslError() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "error " + std::to_string(code);
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_OPENSSL_H_
