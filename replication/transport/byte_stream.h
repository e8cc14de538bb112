// Bytes over TCP, plain or in TLS: what frames are laid upon. Each
// implementation knows its handshake and can name its errors.
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

  // The TCP socket below, to connect and to close. Closing it makes what is
  // under way end with an error.
  virtual asio::ip::tcp::socket& socket() = 0;

  // To be called once, on a connected socket, before any other read or write.
  virtual void Handshake(Side side, Handler handler) = 0;

  // Who is there, after the handshake: the replica id that the peer proved, 0
  // if this kind of stream proves nothing. InvalidArgument or NotSupported: the
  // peer, `peer` in messages, is not to be talked to.
  virtual rocksdb::Status IdentifyPeer(const std::string& peer,
                                       uint64_t* replica_id) const = 0;

  virtual void ReadSome(asio::mutable_buffer buffer, Handler handler) = 0;
  virtual void WriteSome(asio::const_buffer bytes, Handler handler) = 0;

  // Bytes that crossed the wire so far, those of TLS included.
  virtual uint64_t wire_bytes_sent() const = 0;
  virtual uint64_t wire_bytes_received() const = 0;

  // What an error of this stream means, `peer` being its name in messages.
  virtual rocksdb::Status Describe(const std::error_code& error,
                                   const std::string& peer) const = 0;

  // A guess to be added when the peer hangs up before it let us in.
  virtual std::string HintOnRefusal() const = 0;
};

// May throw std::system_error when OpenSSL is out of memory.
std::unique_ptr<ByteStream> NewTlsStream(asio::io_context* context,
                                         std::shared_ptr<const TlsContext> tls);
std::unique_ptr<ByteStream> NewPlainStream(asio::io_context* context);

// The part of Describe that is TCP's.
rocksdb::Status DescribeSocketError(const std::error_code& error,
                                    const std::string& peer);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_BYTE_STREAM_H_
