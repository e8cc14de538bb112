// A stream of bytes over TCP, plain or in TLS, which carries the frames. Each
// implementation knows its handshake and can describe its errors.
//
// Thread rule: everything here runs on the transport's one thread, except the
// factories. At most one read and one write are under way at a time, and the
// stream must live until their handlers have run.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_BYTE_STREAM_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_BYTE_STREAM_H_

#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <system_error>

#include "replication/transport/tls_context.h"
#include "rocksdb/status.h"

namespace rocksync {

enum class Side { kDialer, kListener };

class ByteStream {
 public:
  using Handler = std::function<void(const std::error_code&, size_t)>;

  virtual ~ByteStream() = default;

  // The TCP socket below, to connect and to close. Closing it ends the reads
  // and writes under way with an error.
  virtual asio::ip::tcp::socket& socket() = 0;

  // Runs the handshake. To be called once, on a connected socket, before any
  // other read or write.
  virtual void Handshake(Side side, Handler handler) = 0;

  // Sets `*replica_id` to the id that the peer proved in the handshake, 0 if
  // this kind of stream proves none. InvalidArgument or NotSupported: the peer
  // is refused. `peer` is its name in messages.
  // REQUIRES: the handshake is over.
  virtual rocksdb::Status IdentifyPeer(const std::string& peer,
                                       uint64_t* replica_id) const = 0;

  virtual void ReadSome(asio::mutable_buffer buffer, Handler handler) = 0;
  virtual void WriteSome(asio::const_buffer bytes, Handler handler) = 0;

  // Bytes sent and received on the wire so far, those of TLS included.
  virtual uint64_t wire_bytes_sent() const = 0;
  virtual uint64_t wire_bytes_received() const = 0;

  // Translates an error of this stream. `peer` is the peer's name in messages.
  virtual rocksdb::Status Describe(const std::error_code& error,
                                   const std::string& peer) const = 0;

  // Returns a guess at the cause for a peer that hangs up before its greeting;
  // may be empty.
  virtual std::string HintOnRefusal() const = 0;
};

// Creates a stream over TLS. May throw std::bad_alloc when OpenSSL is out of
// memory.
std::unique_ptr<ByteStream> NewTlsStream(asio::io_context* context,
                                         std::shared_ptr<const TlsContext> tls);
std::unique_ptr<ByteStream> NewPlainStream(asio::io_context* context);

// Translates the errors of TCP, for Describe.
rocksdb::Status DescribeSocketError(const std::error_code& error,
                                    const std::string& peer);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_BYTE_STREAM_H_
