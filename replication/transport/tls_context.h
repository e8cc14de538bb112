// What all TLS connections of a transport share: version, keys, the CA, and
// the words for what can go wrong with them.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_TLS_CONTEXT_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_TLS_CONTEXT_H_

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>

#include "replication/transport/openssl.h"
#include "rocksdb/status.h"

namespace rocksync {

using SslCtxPtr = std::unique_ptr<SSL_CTX, OpenSslFree<SSL_CTX_free>>;

// Immutable after Load; shared by threads.
class TlsContext {
 public:
  // Reads the files and checks that they fit: the key to the certificate, the
  // certificate to the CA and to this day, that it names a replica, and that
  // its purposes let it be a client and a server.
  static rocksdb::Status Load(const std::string& ca_file,
                              const std::string& certificate_file,
                              const std::string& private_key_file,
                              std::shared_ptr<const TlsContext>* loaded);

  // OpenSSL counts references: a stream keeps the SSL_CTX alive by itself.
  SSL_CTX* native() const { return ctx_.get(); }
  uint64_t replica_id() const { return replica_id_; }
  // The earliest end in the chain of the own certificate, and of what it is: as
  // CertificateState.
  uint64_t expires_ms() const { return expires_ms_; }
  const std::string& first_to_expire() const { return first_to_expire_; }
  const std::string& ca_file() const { return ca_file_; }
  const std::string& certificate_file() const { return certificate_file_; }

  // Makes a failed verification of the peer of `ssl` append its reason, and
  // whose certificate it was, to `*reason`, which must outlive the handshake.
  static void RecordVerification(SSL* ssl, std::string* reason);

 private:
  TlsContext() = default;
  rocksdb::Status Configure();
  rocksdb::Status UseFiles(const std::string& private_key_file);
  rocksdb::Status CheckOwnCertificate();
  // As a peer will, which is the other side: "ssl_client" or "ssl_server".
  rocksdb::Status VerifyOwnCertificateAs(const char* side);
  // `chain`: the own certificate first, that which is trusted last.
  void NoteFirstToExpire(const STACK_OF(X509) * chain);
  rocksdb::Status Unfit(X509_STORE_CTX* store) const;

  SslCtxPtr ctx_;
  std::string ca_file_;
  std::string certificate_file_;
  uint64_t replica_id_ = 0;
  uint64_t expires_ms_ = 0;
  std::string first_to_expire_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_TLS_CONTEXT_H_
