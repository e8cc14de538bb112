// Makes X.509 certificates for trials and tests.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_CERTIFICATE_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_CERTIFICATE_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "replication/transport/openssl.h"
#include "rocksdb/status.h"

namespace rocksync {

struct CertificateAndKey {
  X509Ptr certificate;
  PkeyPtr key;
};

struct CertificateRequest {
  std::string common_name;
  std::string uri;  // subjectAltName; empty: none
  // Of a replica's certificate; empty: none, so good for everything.
  std::string extended_key_usage = "serverAuth,clientAuth";
  // Relative to now.
  std::chrono::seconds not_before{-3600};
  std::chrono::seconds not_after{30 * 24 * 3600};
};

// A certificate for `made->key`, or if that is null for a new P-256 key: of a
// CA, signed by itself, or of an end of TLS connections (client and server),
// signed by `ca`.
rocksdb::Status MakeCa(const CertificateRequest& request,
                       CertificateAndKey* made);
rocksdb::Status IssueCertificate(const CertificateAndKey& ca,
                                 const CertificateRequest& request,
                                 CertificateAndKey* made);

// What becomes of a file that is there already.
enum class IfThere { kReplace, kRefuse };

// PEM, into new files that appear whole, and are durable then; the key's with
// mode 0600. What a symbolic link names is replaced, and not the link. Not by
// two threads or processes at once: see CertificatesLock. IOError names the
// file; InvalidArgument: it is there, and `if_there` refuses that.
rocksdb::Status WriteCertificate(const X509* certificate,
                                 const std::string& path,
                                 IfThere if_there = IfThere::kReplace);
rocksdb::Status WritePrivateKey(const EVP_PKEY* key, const std::string& path,
                                IfThere if_there = IfThere::kReplace);

// What a process left that ended while it wrote the file.
void RemoveDraft(const std::string& path);

// The reverse. IOError: cannot be opened; InvalidArgument: is not PEM of the
// kind, or no regular file. An encrypted key is refused: nobody is there to
// type the passphrase.
rocksdb::Status ReadCertificate(const std::string& path, X509Ptr* certificate);
rocksdb::Status ReadPrivateKey(const std::string& path, PkeyPtr* key);

// When it expires, milliseconds since the Unix epoch; 0: before 1970,
// or not a time.
uint64_t ExpiresMs(const X509* certificate);

// As "2026-11-26 21:45:00 UTC". Empty: later than any date.
std::string UtcText(uint64_t unix_ms);

// A certificate of the file, which may hold several CAs, signed this one.
bool HoldsIssuerOf(const std::string& path, X509* certificate);

// The key is that of the certificate.
bool IsPair(const CertificateAndKey& pair);

// InvalidArgument: not the certificate of a CA, or it has expired, or the key
// is not its key. What such a pair signs, nobody accepts. The files, in which
// the two were, are named in the message.
rocksdb::Status CheckCa(const CertificateAndKey& ca, const std::string& file,
                        const std::string& key_file);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_CERTIFICATE_H_
