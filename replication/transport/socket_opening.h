// Opens a stream of frames, by dialing or over an accepted TCP connection:
// connects, runs the handshake, identifies the peer, and sends or awaits the
// greeting, all within a deadline.
//
// Thread rule: the transport's thread only. The callback runs exactly once.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_SOCKET_OPENING_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_SOCKET_OPENING_H_

#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "replication/transport/address.h"
#include "replication/transport/frame_stream.h"
#include "rocksdb/status.h"

namespace rocksync {

class SocketOpening : public std::enable_shared_from_this<SocketOpening> {
 public:
  // Gets OK, the stream, and the replica id that the peer proved (0: none); or
  // an error, and no stream.
  using Done = std::function<void(const rocksdb::Status&,
                                  std::shared_ptr<FrameStream>, uint64_t)>;
  // Returns OK if a peer that proved to be `replica_id` is let in.
  using Admit = std::function<rocksdb::Status(uint64_t replica_id,
                                              const std::string& peer)>;

  SocketOpening(asio::io_context* context, std::unique_ptr<ByteStream> bytes,
                std::string peer_name, std::chrono::milliseconds timeout,
                Admit admit, Done done);

  // Begin the opening. One of the two is to be called, once.
  void Dial(const HostPort& address);
  void Accept();  // the socket of `bytes` is connected

  // Ends the opening now. No effect if it has ended.
  void Abort(const rocksdb::Status& why) { Finish(why); }

 private:
  using Endpoints = asio::ip::tcp::resolver::results_type;

  void StartDeadline();
  void Connect(const Endpoints& endpoints);
  void Handshake(Side side);
  void OnHandshake(Side side, const std::error_code& error);
  void AwaitGreeting();
  void Greet(const rocksdb::Status& verdict);
  void Finish(const rocksdb::Status& status);

  asio::ip::tcp::resolver resolver_;
  asio::steady_timer deadline_;
  const std::shared_ptr<FrameStream> stream_;
  const std::chrono::milliseconds timeout_;
  const Admit admit_;
  Done done_;  // empty once it has run
  uint64_t replica_id_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_SOCKET_OPENING_H_
