#include "replication/transport/tls_context.h"

#include "replication/transport/certificate.h"
#include "replication/transport/identity.h"

namespace rocksync {
namespace {

using StoreContextPtr =
    std::unique_ptr<X509_STORE_CTX, OpenSslFree<X509_STORE_CTX_free>>;

std::string NameText(const X509_NAME* name) {
  const BioPtr memory(BIO_new(BIO_s_mem()));
  if (memory == nullptr || name == nullptr) return "?";
  X509_NAME_print_ex(memory.get(), name, 0, XN_FLAG_RFC2253);
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

// Returns true if the certificate that has expired is a CA's, and not the
// replica's own or the peer's.
bool IsOfCa(X509_STORE_CTX* store) {
  return X509_STORE_CTX_get_error(store) == X509_V_ERR_CERT_HAS_EXPIRED &&
         X509_STORE_CTX_get_error_depth(store) > 0;
}

// Returns true if the certificate was issued by another CA than the one given.
bool IsOfUnknownCa(X509_STORE_CTX* store) {
  switch (X509_STORE_CTX_get_error(store)) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return true;
    default:
      return false;
  }
}

// Says which certificate failed verification, and why.
std::string VerificationText(X509_STORE_CTX* store) {
  std::string text =
      X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
  if (IsOfCa(store)) text = "of the CA: " + text;
  const X509* at = X509_STORE_CTX_get_current_cert(store);
  if (at == nullptr) return text;
  text += " (subject " + NameText(X509_get_subject_name(at)) + ", issuer " +
          NameText(X509_get_issuer_name(at)) + ")";
  return text;
}

// Says why the peer's certificate failed verification, and what to do on the
// peer's machine, where it lies.
std::string PeerVerificationText(X509_STORE_CTX* store) {
  const std::string text = VerificationText(store);
  if (IsOfUnknownCa(store)) {
    return "give the CA that issued it, which is the cluster's, or renew it "
           "under this one: " +
           text;
  }
  return X509_STORE_CTX_get_error(store) == X509_V_ERR_CERT_HAS_EXPIRED &&
                 !IsOfCa(store)
             ? text + "; renew it there, by `rocksync certificate`"
             : text;
}

// Returns the argument of `rocksync certificate --output` with which that
// writes this file.
std::string StemOf(const std::string& certificate_file) {
  return certificate_file.ends_with(".pem")
             ? certificate_file.substr(0, certificate_file.size() - 4)
             : "NAME`, and copy NAME.pem over `" + certificate_file;
}

int ReasonIndex() {
  static const int index =
      SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

int OnVerify(int ok, X509_STORE_CTX* store) {
  if (ok == 1) return 1;
  const auto* ssl = static_cast<SSL*>(
      X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* reason = static_cast<std::string*>(SSL_get_ex_data(ssl, ReasonIndex()));
  if (reason != nullptr) *reason = PeerVerificationText(store);
  return 0;
}

// Returns the error for a file from which a certificate was read a moment ago.
rocksdb::Status Unusable(const std::string& file) {
  return rocksdb::Status::InvalidArgument(
      file + " cannot be used, or was changed while it was read",
      TakeOpenSslError());
}

rocksdb::Status Missing(const char* option) {
  return rocksdb::Status::InvalidArgument(
      std::string("TlsTransportOptions::") + option + " is empty",
      "TLS needs a CA, a certificate and its key; `rocksync certificate` makes "
      "them");
}

}  // namespace

rocksdb::Status TlsContext::Load(const std::string& ca_file,
                                 const std::string& certificate_file,
                                 const std::string& private_key_file,
                                 std::shared_ptr<const TlsContext>* loaded) {
  if (ca_file.empty()) return Missing("ca_file");
  if (certificate_file.empty()) return Missing("certificate_file");
  if (private_key_file.empty()) return Missing("private_key_file");
  const std::shared_ptr<TlsContext> context(new TlsContext);
  context->ca_file_ = ca_file;
  context->certificate_file_ = certificate_file;
  rocksdb::Status s = context->Configure();
  if (s.ok()) s = context->UseFiles(private_key_file);
  if (s.ok()) s = context->CheckOwnCertificate();
  if (s.ok()) *loaded = context;
  return s;
}

rocksdb::Status TlsContext::Configure() {
  ctx_.reset(SSL_CTX_new(TLS_method()));
  if (ctx_ == nullptr) {
    return rocksdb::Status::Aborted("OpenSSL", TakeOpenSslError());
  }
  if (SSL_CTX_set_min_proto_version(ctx_.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(ctx_.get(), TLS1_3_VERSION) != 1) {
    return rocksdb::Status::NotSupported("OpenSSL has no TLS 1.3",
                                         TakeOpenSslError());
  }
  // No resumption: each TLS session checks the certificate anew. And no ticket
  // is left unread when the dialer closes, which would reset the stream.
  SSL_CTX_set_session_cache_mode(ctx_.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(ctx_.get(), 0);
  SSL_CTX_set_verify(
      ctx_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, OnVerify);
  return rocksdb::Status::OK();
}

rocksdb::Status TlsContext::UseFiles(const std::string& private_key_file) {
  X509Ptr readable;
  rocksdb::Status s = ReadCertificate(ca_file_, &readable);
  if (s.ok()) s = ReadCertificate(certificate_file_, &readable);
  PkeyPtr key;
  if (s.ok()) s = ReadPrivateKey(private_key_file, &key);
  if (!s.ok()) return s;
  if (SSL_CTX_load_verify_file(ctx_.get(), ca_file_.c_str()) != 1) {
    return Unusable("CA file " + ca_file_);
  }
  // The cluster's CA may be an intermediate one. Then that CA is trusted, and
  // not the one that signed it.
  X509_STORE_set_flags(SSL_CTX_get_cert_store(ctx_.get()),
                       X509_V_FLAG_PARTIAL_CHAIN);
  if (SSL_CTX_use_certificate_chain_file(ctx_.get(),
                                         certificate_file_.c_str()) != 1) {
    return Unusable("certificate " + certificate_file_);
  }
  if (SSL_CTX_use_PrivateKey(ctx_.get(), key.get()) != 1 ||
      SSL_CTX_check_private_key(ctx_.get()) != 1) {
    ERR_clear_error();
    return rocksdb::Status::InvalidArgument(
        "private key " + private_key_file + " does not belong to certificate " +
            certificate_file_,
        "one of the two was replaced alone: bring the other one, too");
  }
  return rocksdb::Status::OK();
}

rocksdb::Status TlsContext::CheckOwnCertificate() {
  X509* own = SSL_CTX_get0_certificate(ctx_.get());
  rocksdb::Status s = ReplicaIdOf(own, &replica_id_);
  if (!s.ok()) {
    return rocksdb::Status::InvalidArgument(certificate_file_, s.getState());
  }
  s = VerifyOwnCertificateAs("ssl_client");
  return s.ok() ? VerifyOwnCertificateAs("ssl_server") : s;
}

rocksdb::Status TlsContext::VerifyOwnCertificateAs(const char* side) {
  X509* const own = SSL_CTX_get0_certificate(ctx_.get());
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(ctx_.get(), &chain);
  const StoreContextPtr store(X509_STORE_CTX_new());
  if (store == nullptr ||
      X509_STORE_CTX_init(store.get(), SSL_CTX_get_cert_store(ctx_.get()), own,
                          chain) != 1 ||
      X509_STORE_CTX_set_default(store.get(), side) != 1) {
    return rocksdb::Status::Aborted("OpenSSL", TakeOpenSslError());
  }
  if (X509_verify_cert(store.get()) != 1) return Unfit(store.get());
  NoteFirstToExpire(X509_STORE_CTX_get0_chain(store.get()));
  return rocksdb::Status::OK();
}

void TlsContext::NoteFirstToExpire(const STACK_OF(X509) * chain) {
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    const X509* const at = sk_X509_value(chain, i);
    const uint64_t expires_ms = ExpiresMs(at);
    // If the two expire together, the CA is noted: to renew the certificate
    // alone would not help.
    if (i > 0 && expires_ms > expires_ms_) continue;
    expires_ms_ = expires_ms;
    first_to_expire_ = i == 0 ? "the certificate in " + certificate_file_
                              : "the CA in " + ca_file_ + " (" +
                                    NameText(X509_get_subject_name(at)) + ")";
  }
}

// Returns the error for an own certificate that failed verification. Expired
// means that time alone caused the failure, and a renewal alone mends it.
rocksdb::Status TlsContext::Unfit(X509_STORE_CTX* store) const {
  ERR_clear_error();
  const std::string why = VerificationText(store);
  const int error = X509_STORE_CTX_get_error(store);
  if (IsOfCa(store)) {
    return rocksdb::Status::Expired(
        "the CA in " + ca_file_ + " has expired, and with it certificate " +
            certificate_file_ + " and all others of it: " + why,
        "make a new CA and certificates of it, for all replicas: \"Another "
        "CA\" in operating.md");
  }
  if (error == X509_V_ERR_CERT_HAS_EXPIRED) {
    return rocksdb::Status::Expired(
        "certificate " + certificate_file_ + " has expired: " + why,
        "renew it: `rocksync certificate --ca ca.pem --ca-key ca.key "
        "--output " +
            StemOf(certificate_file_) + "`");
  }
  if (error == X509_V_ERR_CERT_NOT_YET_VALID) {
    return rocksdb::Status::InvalidArgument(
        "certificate " + certificate_file_ +
            ", or its CA, is not valid yet: " + why,
        "correct this machine's clock, or that of the machine that made it");
  }
  if (error == X509_V_ERR_INVALID_PURPOSE) {
    return rocksdb::Status::InvalidArgument(
        "certificate " + certificate_file_ +
            " does not let a replica both dial and listen: " + why,
        "issue one with extendedKeyUsage = serverAuth, clientAuth and keyUsage "
        "= digitalSignature, or without them");
  }
  return rocksdb::Status::InvalidArgument(
      "certificate " + certificate_file_ + " is not valid under the CA in " +
          ca_file_,
      IsOfUnknownCa(store)
          ? "give the CA that issued it, or a certificate of this one: " + why
          : why);
}

void TlsContext::RecordVerification(SSL* ssl, std::string* reason) {
  SSL_set_ex_data(ssl, ReasonIndex(), reason);
}

}  // namespace rocksync
