// A peer without manners: a TCP socket, or TLS on one, driven byte by byte.

#ifndef ROCKSYNC_TESTS_UNIT_REPLICATION_TRANSPORT_RAW_PEER_H_
#define ROCKSYNC_TESTS_UNIT_REPLICATION_TRANSPORT_RAW_PEER_H_

#include <openssl/ssl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "replication/transport/certificate.h"

namespace rocksync {

// Every call gives up after 5 s.
class RawPeer {
 public:
  // Connects to an address of 127.0.0.1, "127.0.0.1:port". Of what it has not
  // read the system takes `receive_buffer` bytes or so; 0: as many as it likes.
  explicit RawPeer(const std::string& address, int receive_buffer = 0);
  ~RawPeer();

  // The client's part of TLS with these credentials (key null: none); false
  // if the handshake fails on this side.
  bool StartTls(const CertificateAndKey& own, int max_version = TLS1_3_VERSION);

  bool Write(std::string_view bytes);
  // The bytes of a record of TLS that Write would send (at most 16 KiB), and a
  // part of one as it goes over the wire.
  std::string Encrypt(std::string_view bytes);
  bool WriteRaw(std::string_view bytes);
  // What comes until the peer closes, or `max` bytes have come.
  std::string Read(size_t max = 1 << 20);
  // True if the peer has closed or closes within 5 s.
  bool ClosedByPeer();
  // Closes with a reset.
  void Reset();

 private:
  int fd_ = -1;
  SSL_CTX* ctx_ = nullptr;
  SSL* ssl_ = nullptr;
};

// Listens on 127.0.0.1 and treats one connection as `serve` says.
class RawListener {
 public:
  explicit RawListener(std::function<void(int fd)> serve);
  ~RawListener();
  std::string address() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_REPLICATION_TRANSPORT_RAW_PEER_H_
