#include "sketch/element/sha256.h"

#include <openssl/evp.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace rocksync {
namespace {

void Require(bool ok) {
  if (ok) return;
  std::fputs("rocksync: libcrypto offers no SHA-256\n", stderr);
  std::abort();
}

// Returns the algorithm, fetched once and kept for the life of the process, so
// that hashing stays possible while static objects are destroyed.
const EVP_MD* Algorithm() {
  static const EVP_MD* const algorithm =
      EVP_MD_fetch(nullptr, "SHA256", nullptr);
  Require(algorithm != nullptr);
  return algorithm;
}

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

EVP_MD_CTX* ThreadContext() {
  thread_local const std::unique_ptr<EVP_MD_CTX, FreeContext> context(
      EVP_MD_CTX_new());
  Require(context != nullptr);
  return context.get();
}

}  // namespace

Sha256Digest Sha256(std::initializer_list<std::string_view> pieces) {
  EVP_MD_CTX* const context = ThreadContext();
  Require(EVP_DigestInit_ex2(context, Algorithm(), nullptr) == 1);
  for (const std::string_view piece : pieces) {
    Require(EVP_DigestUpdate(context, piece.data(), piece.size()) == 1);
  }
  Sha256Digest digest;
  Require(EVP_DigestFinal_ex(context, digest.data(), nullptr) == 1);
  return digest;
}

}  // namespace rocksync
