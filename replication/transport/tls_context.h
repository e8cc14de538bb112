// The configuration that all TLS connections of a transport share: version,
// keys, the CA, and the texts of errors about them.

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

// A TLS configuration. Immutable after Load; shared by threads.
class TlsContext {
 public:
  // Reads the files and checks them: the key is that of the certificate; the
  // certificate is valid under the CA and today, names a replica, and may be
  // used by a client and by a server.
  static rocksdb::Status Load(const std::string& ca_file,
                              const std::string& certificate_file,
                              const std::string& private_key_file,
                              std::shared_ptr<const TlsContext>* loaded);

  // OpenSSL counts references: a stream keeps the SSL_CTX alive by itself.
  SSL_CTX* native() const { return ctx_.get(); }
  uint64_t replica_id() const { return replica_id_; }
  // When the first certificate in the own certificate's chain expires, and
  // which one it is; as in CertificateState.
  uint64_t expires_ms() const { return expires_ms_; }
  const std::string& first_to_expire() const { return first_to_expire_; }
  const std::string& ca_file() const { return ca_file_; }
  const std::string& certificate_file() const { return certificate_file_; }

  // Makes a failed verification of the peer of `ssl` put its reason, and whose
  // certificate it was, into `*reason`, which must outlive the handshake.
  static void RecordVerification(SSL* ssl, std::string* reason);

 private:
  TlsContext() = default;
  rocksdb::Status Configure();
  rocksdb::Status UseFiles(const std::string& private_key_file);
  rocksdb::Status CheckOwnCertificate();
  // Verifies the own certificate as a peer will. `side` is the side on which
  // this replica uses it: "ssl_client" or "ssl_server".
  rocksdb::Status VerifyOwnCertificateAs(const char* side);
  // Notes the certificate of `chain` that expires first. The own certificate
  // comes first in `chain`, the trusted one last.
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
