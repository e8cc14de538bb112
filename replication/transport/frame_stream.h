// Reads and writes frames over a ByteStream, asynchronously.
//
// Thread rule: the transport's thread only, except where noted. At most one
// Read and one Write are under way at a time. Handlers run exactly once, on
// the transport's thread, possibly before the call returns.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_FRAME_STREAM_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_FRAME_STREAM_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "replication/transport/byte_stream.h"
#include "replication/transport/frame.h"
#include "replication/transport/tcp_progress.h"
#include "rocksdb/status.h"

namespace rocksync {

class FrameStream : public std::enable_shared_from_this<FrameStream> {
 public:
  using Clock = std::chrono::steady_clock;
  using ReadHandler = std::function<void(const rocksdb::Status&, std::string)>;
  using StatusHandler = std::function<void(const rocksdb::Status&)>;

  FrameStream(std::unique_ptr<ByteStream> bytes, std::string peer_name);

  // Reads a frame, which may be empty. `spare` is memory for it, or empty.
  void Read(std::string spare, ReadHandler handler);

  // See Connection::SetFrameLimit.
  void SetFrameLimit(size_t bytes) { decoder_.SetLimit(bytes); }

  // Writes `wire`, a whole frame with its header.
  void Write(std::string wire, StatusHandler handler);
  // Moves out what was written last, to reuse its memory. Once for each Write.
  std::string TakeWritten() { return std::exchange(writing_, {}); }

  // Whether bytes that the system has not sent yet are still sent.
  enum class Unsent { kArrives, kDropped };
  // Closes the stream; reads and writes then return `why`. Idempotent.
  void Close(const rocksdb::Status& why, Unsent unsent = Unsent::kArrives);

  // Sets a handler that runs once: when Close is called, or at once if the
  // stream is closed already.
  void OnClose(StatusHandler handler);

  ByteStream& bytes() { return *bytes_; }
  bool closed() const { return !closed_because_.ok(); }
  Clock::time_point last_traffic() const { return last_traffic_; }

  // The following may be called from any thread.
  const std::string& peer_name() const { return peer_name_; }
  bool in_frame() const { return in_frame_; }
  uint64_t wire_bytes_sent() const { return wire_sent_; }
  uint64_t wire_bytes_received() const { return wire_received_; }
  // Returns the bytes that this machine has received and the peer's has taken.
  TcpProgress progress() const;

 private:
  void Advance();
  void OnBytes(const std::error_code& error, size_t size);
  void WriteOn();
  void OnWritten(const std::error_code& error, size_t size);
  void FinishRead(const rocksdb::Status& status, std::string frame);
  void NoteTraffic();

  const std::unique_ptr<ByteStream> bytes_;
  const std::string peer_name_;
  rocksdb::Status closed_because_;
  StatusHandler on_close_;
  Clock::time_point last_traffic_ = Clock::now();

  FrameDecoder decoder_;
  std::array<char, 16 << 10> buffer_;
  std::string_view unread_;  // received, in buffer_, not yet decoded
  ReadHandler read_handler_;

  std::string writing_;
  std::string_view unwritten_;  // the part of writing_ that is not sent yet
  StatusHandler write_handler_;

  mutable std::mutex closing_;  // held while the socket is closed or queried
  std::atomic<bool> in_frame_{false};
  std::atomic<uint64_t> wire_sent_{0};
  std::atomic<uint64_t> wire_received_{0};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_FRAME_STREAM_H_
