// ByteStream over TLS 1.3, both sides authenticated.

#include <openssl/ssl.h>
#include <openssl/sslerr.h>

#include <asio/error.hpp>
#include <asio/ssl.hpp>
#include <utility>

#include "replication/transport/byte_stream.h"
#include "replication/transport/identity.h"

namespace rocksync {
namespace {

using Socket = asio::ip::tcp::socket;

SSL* NewSsl(const TlsContext& tls) {
  SSL* ssl = SSL_new(tls.native());
  if (ssl == nullptr) {
    ERR_clear_error();
    throw std::bad_alloc();
  }
  return ssl;
}

// Returns true for the TLS 1.3 alerts by which a peer refuses this side's
// certificate.
bool IsCertificateAlert(int reason) {
  switch (reason) {
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return true;
    default:
      return false;
  }
}

// Returns true for OpenSSL's errors for bytes that are no TLS records at all.
bool IsNotTls(int reason) {
  switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_RECORD_LENGTH_MISMATCH:
    case SSL_R_BAD_PACKET_LENGTH:
      return true;
    default:
      return false;
  }
}

bool IsVersionMismatch(int reason) {
  switch (reason) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_NO_PROTOCOLS_AVAILABLE:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_VERSION_TOO_LOW:
      return true;
    default:
      return false;
  }
}

class TlsStream : public ByteStream {
 public:
  TlsStream(asio::io_context* context, std::shared_ptr<const TlsContext> tls)
      : tls_(std::move(tls)), stream_(*context, NewSsl(*tls_)) {
    TlsContext::RecordVerification(stream_.native_handle(),
                                   &verification_failure_);
  }

  Socket& socket() override { return stream_.next_layer(); }

  void Handshake(Side side, Handler handler) override {
    stream_.async_handshake(
        side == Side::kDialer ? asio::ssl::stream_base::client
                              : asio::ssl::stream_base::server,
        [handler = std::move(handler)](const std::error_code& error) {
          handler(error, 0);
        });
  }

  rocksdb::Status IdentifyPeer(const std::string& peer,
                               uint64_t* replica_id) const override {
    const X509* certificate = SSL_get0_peer_certificate(ssl());
    if (certificate == nullptr) {
      return rocksdb::Status::InvalidArgument(peer + " has no certificate");
    }
    const rocksdb::Status s = ReplicaIdOf(certificate, replica_id);
    if (s.ok()) return s;
    return rocksdb::Status::InvalidArgument("of " + peer, s.getState());
  }

  void ReadSome(asio::mutable_buffer buffer, Handler handler) override {
    stream_.async_read_some(buffer, std::move(handler));
  }

  void WriteSome(asio::const_buffer bytes, Handler handler) override {
    stream_.async_write_some(bytes, std::move(handler));
  }

  // The BIO between OpenSSL and Asio counts the bytes that pass.
  uint64_t wire_bytes_sent() const override {
    return BIO_number_written(SSL_get_wbio(ssl()));
  }
  uint64_t wire_bytes_received() const override {
    return BIO_number_read(SSL_get_rbio(ssl()));
  }

  rocksdb::Status Describe(const std::error_code& error,
                           const std::string& peer) const override;

  std::string HintOnRefusal() const override { return {}; }

 private:
  SSL* ssl() const {
    return const_cast<TlsStream*>(this)->stream_.native_handle();
  }
  rocksdb::Status DescribeTlsError(int reason, const std::string& text,
                                   const std::string& peer) const;

  const std::shared_ptr<const TlsContext> tls_;
  std::string verification_failure_;
  asio::ssl::stream<Socket> stream_;
};

rocksdb::Status TlsStream::Describe(const std::error_code& error,
                                    const std::string& peer) const {
  if (error == asio::ssl::error::stream_truncated) {
    return DescribeSocketError(asio::error::eof, peer);
  }
  if (error.category() != asio::error::get_ssl_category()) {
    return DescribeSocketError(error, peer);
  }
  const int reason = ERR_GET_REASON(static_cast<unsigned long>(error.value()));
  return DescribeTlsError(reason, error.message(), peer);
}

rocksdb::Status TlsStream::DescribeTlsError(int reason, const std::string& text,
                                            const std::string& peer) const {
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    return rocksdb::Status::InvalidArgument(
        "the certificate of " + peer + " is not valid under the CA in " +
            tls_->ca_file(),
        verification_failure_);
  }
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
    return rocksdb::Status::InvalidArgument(
        peer + " showed no certificate",
        "expected one signed by the CA in " + tls_->ca_file());
  }
  if (IsCertificateAlert(reason)) {
    return rocksdb::Status::InvalidArgument(
        peer + " refused our certificate " + tls_->certificate_file(),
        reason == SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED
            ? text + "; renew it, by `rocksync certificate`"
        : reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA
            ? text +
                  "; its ca_file lacks the CA that signed this certificate: "
                  "renew it by the CA that the peer has, or append ours there"
            : text);
  }
  if (IsNotTls(reason)) {
    return rocksdb::Status::NotSupported(
        peer + " does not speak TLS",
        "is it a replica, and with the TLS transport?");
  }
  if (IsVersionMismatch(reason)) {
    return rocksdb::Status::NotSupported(peer + " does not speak TLS 1.3");
  }
  return rocksdb::Status::IOError("TLS with " + peer, text);
}

}  // namespace

std::unique_ptr<ByteStream> NewTlsStream(
    asio::io_context* context, std::shared_ptr<const TlsContext> tls) {
  return std::make_unique<TlsStream>(context, std::move(tls));
}

}  // namespace rocksync
