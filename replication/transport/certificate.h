// Makes, writes and reads X.509 certificates and their private keys.

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
  // For a replica's certificate. Empty: no such extension, so that the
  // certificate is good for everything.
  std::string extended_key_usage = "serverAuth,clientAuth";
  // The validity, relative to now.
  std::chrono::seconds not_before{-3600};
  std::chrono::seconds not_after{30 * 24 * 3600};
};

// MakeCa makes a CA's certificate, signed by itself. IssueCertificate makes one
// for an end of TLS connections (client and server), signed by `ca`. Both are
// for `made->key`, or for a new P-256 key if that is null.
rocksdb::Status MakeCa(const CertificateRequest& request,
                       CertificateAndKey* made);
rocksdb::Status IssueCertificate(const CertificateAndKey& ca,
                                 const CertificateRequest& request,
                                 CertificateAndKey* made);

// Says what to do if the file is there already.
enum class IfThere { kReplace, kRefuse };

// Write PEM into new files, which appear whole and are durable then. A new
// key's file has mode 0600. If the path is a symbolic link, the file that it
// names is replaced, and not the link. IOError names the file. InvalidArgument:
// the file is there, and `if_there` refuses that. REQUIRES: no two threads or
// processes write at once, see CertificatesLock.
rocksdb::Status WriteCertificate(const X509* certificate,
                                 const std::string& path,
                                 IfThere if_there = IfThere::kReplace);
rocksdb::Status WritePrivateKey(const EVP_PKEY* key, const std::string& path,
                                IfThere if_there = IfThere::kReplace);

// Removes what a process left that ended while it wrote the file `path`.
void RemoveDraft(const std::string& path);

// Read a PEM file. IOError: it cannot be opened. InvalidArgument: it is no
// regular file, or holds no PEM of that kind. An encrypted key is refused,
// since nobody is there to type the passphrase.
rocksdb::Status ReadCertificate(const std::string& path, X509Ptr* certificate);
rocksdb::Status ReadPrivateKey(const std::string& path, PkeyPtr* key);

// Returns when a certificate expires, in milliseconds since the Unix epoch; 0:
// before 1970, or not a time.
uint64_t ExpiresMs(const X509* certificate);

// Returns a time as "2026-11-26 21:45:00 UTC"; empty if it is later than any
// date.
std::string UtcText(uint64_t unix_ms);

// Returns true if a CA in the file, which may hold several, signed
// `certificate`.
bool HoldsIssuerOf(const std::string& path, X509* certificate);

// Returns true if the key is that of the certificate.
bool IsPair(const CertificateAndKey& pair);

// Returns InvalidArgument if the certificate is not a CA's, has expired, or has
// another key: nobody would accept what such a pair signs. The message names
// `file` or `key_file`, from which the two were read.
rocksdb::Status CheckCa(const CertificateAndKey& ca, const std::string& file,
                        const std::string& key_file);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_CERTIFICATE_H_
