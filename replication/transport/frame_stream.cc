#include "replication/transport/frame_stream.h"

#include <cassert>
#include <utility>

namespace rocksync {

FrameStream::FrameStream(std::unique_ptr<ByteStream> bytes,
                         std::string peer_name)
    : bytes_(std::move(bytes)), peer_name_(std::move(peer_name)) {}

void FrameStream::NoteTraffic() {
  last_traffic_ = Clock::now();
  wire_sent_ = bytes_->wire_bytes_sent();
  wire_received_ = bytes_->wire_bytes_received();
}

void FrameStream::Read(std::string spare, ReadHandler handler) {
  assert(read_handler_ == nullptr);
  decoder_.Reuse(std::move(spare));
  read_handler_ = std::move(handler);
  Advance();
}

// Finishes the read from what has been received, or asks for more bytes.
void FrameStream::Advance() {
  if (closed()) return FinishRead(closed_because_, {});
  const FrameDecoder::Result result = decoder_.Consume(&unread_);
  in_frame_ = decoder_.in_frame();
  switch (result) {
    case FrameDecoder::Result::kFrame:
      return FinishRead(rocksdb::Status::OK(), decoder_.TakeBody());
    case FrameDecoder::Result::kCorrupt:
      Close(
          rocksdb::Status::Corruption("from " + peer_name_, decoder_.error()));
      return FinishRead(closed_because_, {});
    case FrameDecoder::Result::kNeedMore:
      bytes_->ReadSome(asio::buffer(buffer_),
                       [self = shared_from_this()](const std::error_code& error,
                                                   size_t size) {
                         self->OnBytes(error, size);
                       });
  }
}

void FrameStream::OnBytes(const std::error_code& error, size_t size) {
  NoteTraffic();
  if (error) {
    Close(bytes_->Describe(error, peer_name_));
  } else {
    unread_ = std::string_view(buffer_.data(), size);
  }
  Advance();
}

void FrameStream::FinishRead(const rocksdb::Status& status, std::string frame) {
  std::exchange(read_handler_, nullptr)(status, std::move(frame));
}

void FrameStream::Write(std::string wire, StatusHandler handler) {
  assert(write_handler_ == nullptr);
  if (closed()) return handler(closed_because_);
  writing_ = std::move(wire);
  unwritten_ = writing_;
  write_handler_ = std::move(handler);
  WriteOn();
}

// Writes piece by piece, so that progress shows whether the peer takes any.
void FrameStream::WriteOn() {
  bytes_->WriteSome(
      asio::buffer(unwritten_),
      [self = shared_from_this()](const std::error_code& error, size_t size) {
        self->OnWritten(error, size);
      });
}

void FrameStream::OnWritten(const std::error_code& error, size_t size) {
  NoteTraffic();
  unwritten_.remove_prefix(size);
  if (error) Close(bytes_->Describe(error, peer_name_));
  if (!closed() && !unwritten_.empty()) return WriteOn();
  std::exchange(write_handler_, nullptr)(closed_because_);
}

void FrameStream::Close(const rocksdb::Status& why, Unsent unsent) {
  if (closed()) return;
  {
    const std::lock_guard lock(closing_);
    closed_because_ = why;
    std::error_code ignored;
    if (unsent == Unsent::kDropped) {
      bytes_->socket().set_option(asio::socket_base::linger(true, 0), ignored);
    } else {
      bytes_->socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    }
    bytes_->socket().close(ignored);
  }
  if (on_close_) std::exchange(on_close_, nullptr)(why);
}

TcpProgress FrameStream::progress() const {
  const TcpProgress whole_records = {wire_received_, wire_sent_};
  const std::lock_guard lock(closing_);
  if (closed()) return whole_records;
  return ReadTcpProgress(bytes_->socket().native_handle())
      .value_or(whole_records);
}

void FrameStream::OnClose(StatusHandler handler) {
  if (closed()) return handler(closed_because_);
  on_close_ = std::move(handler);
}

}  // namespace rocksync
