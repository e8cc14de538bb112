#include "replication/transport/socket_connection.h"

#include <algorithm>
#include <asio/post.hpp>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace rocksync {
namespace {

using std::chrono::milliseconds;

// The most memory that is kept for the next frame to be sent.
constexpr size_t kMaxKept = size_t{512} << 10;

// How often within a timeout to check whether the peer makes progress.
constexpr int kLooks = 16;

// The state that callers and the transport's thread share. Outlives both.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  rocksdb::Status closed_because;  // not ok: closed
  bool reading = false;            // a read is under way
  std::optional<std::string> frame;
  bool writing = false;
  std::string spare;                    // memory of what was sent before
  std::function<void()> on_receivable;  // of WhenReceivable; null: none waits

  void Close(const rocksdb::Status& why) {
    {
      const std::lock_guard lock(mutex);
      if (closed_because.ok()) closed_because = why;
    }
    changed.notify_all();
  }

  // Stores the result of a read. On the transport's thread. Takes the callback
  // before the frame becomes visible, since another thread may then take the
  // frame and register a new callback.
  void CompleteRead(const rocksdb::Status& status, std::string whole) {
    std::function<void()> callback;
    {
      const std::lock_guard lock(mutex);
      if (status.ok()) {
        reading = false;
        frame = std::move(whole);
      } else if (closed_because.ok()) {
        closed_because = status;
      }
      callback.swap(on_receivable);
    }
    changed.notify_all();
    if (callback != nullptr) callback();
  }

  // Runs the callback of WhenReceivable, if one waits. On the transport's
  // thread, when there is something to be received.
  void RunReceivableCallback() {
    std::function<void()> callback;
    {
      const std::lock_guard lock(mutex);
      callback.swap(on_receivable);
    }
    if (callback != nullptr) callback();
  }

  void DropFrame() {
    const std::lock_guard lock(mutex);
    frame.reset();
  }
};

class SocketConnection : public Connection {
 public:
  SocketConnection(std::shared_ptr<asio::io_context> context,
                   std::shared_ptr<FrameStream> stream,
                   uint64_t peer_replica_id)
      : context_(std::move(context)),
        stream_(std::move(stream)),
        peer_replica_id_(peer_replica_id) {
    stream_->OnClose([mailbox = mailbox_](const rocksdb::Status& why) {
      mailbox->Close(why);
      mailbox->RunReceivableCallback();
    });
  }

  ~SocketConnection() override { Close(); }

  rocksdb::Status Send(const rocksdb::Slice& frame,
                       milliseconds timeout) override;
  rocksdb::Status Receive(std::string* frame, milliseconds timeout) override;

  bool WhenReceivable(std::function<void()> on_receivable) override;

  // Posted, as reads are, so that later reads know the limit.
  void SetFrameLimit(size_t bytes) override {
    asio::post(*context_,
               [stream = stream_, bytes] { stream->SetFrameLimit(bytes); });
  }

  void SetFrameTimeout(milliseconds time) override { frame_timeout_ = time; }
  void SetPeerSendsUnasked() override { peer_sends_unasked_ = true; }

  uint64_t peer_replica_id() const override { return peer_replica_id_; }
  std::string peer_name() const override { return stream_->peer_name(); }
  uint64_t bytes_sent() const override { return stream_->wire_bytes_sent(); }
  uint64_t bytes_received() const override {
    return stream_->wire_bytes_received();
  }

  void Close() override {
    Break(rocksdb::Status::Aborted("connection with " + peer_name() +
                                   " closed on this side"));
  }

 private:
  // Wakes the threads that wait here, then closes the socket on the transport's
  // thread.
  void Break(const rocksdb::Status& why,
             FrameStream::Unsent unsent = FrameStream::Unsent::kArrives) {
    mailbox_->Close(why);
    mailbox_->DropFrame();
    asio::post(*context_,
               [stream = stream_, why, unsent] { stream->Close(why, unsent); });
  }

  // Waits until `ended`. Gives up after `timeout` without a change of
  // `progress`, or after frame_timeout_ in all, if that is longer. Returns the
  // time limit that applied.
  template <typename Progress, typename Ended>
  milliseconds Wait(std::unique_lock<std::mutex>* lock, milliseconds timeout,
                    const Progress& progress, const Ended& ended) {
    const milliseconds in_all = frame_timeout_;
    if (timeout <= milliseconds(0) || in_all <= timeout) {
      mailbox_->changed.wait_for(*lock, timeout, ended);
      return timeout;
    }
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + in_all;
    // An acknowledgement wakes no thread, so it is polled for, in small steps.
    // So silence is counted from the last one, and not from a later check: what
    // was sent just before is acknowledged at once, even if the peer's process
    // is frozen.
    const milliseconds step = std::max(timeout / kLooks, milliseconds(1));
    uint64_t last = progress();
    auto silent_since = Clock::now();
    for (;;) {
      const auto look = std::min(Clock::now() + step, until);
      mailbox_->changed.wait_until(*lock, look, ended);
      if (ended()) return timeout;
      const auto now = Clock::now();
      if (now >= until) return in_all;
      const uint64_t so_far = progress();
      if (so_far != last) {
        last = so_far;
        silent_since = now;
      } else if (now - silent_since >= timeout) {
        return timeout;
      }
    }
  }

  void StartRead(std::string spare) {
    asio::post(*context_, [stream = stream_, mailbox = mailbox_,
                           spare = std::move(spare)]() mutable {
      stream->Read(std::move(spare),
                   [mailbox](const rocksdb::Status& status, std::string frame) {
                     mailbox->CompleteRead(status, std::move(frame));
                   });
    });
  }

  void StartWrite(std::string wire) {
    asio::post(*context_, [stream = stream_, mailbox = mailbox_,
                           wire = std::move(wire)]() mutable {
      stream->Write(std::move(wire),
                    [stream, mailbox](const rocksdb::Status& status) {
                      std::string written = stream->TakeWritten();
                      if (!status.ok()) return mailbox->Close(status);
                      {
                        const std::lock_guard lock(mailbox->mutex);
                        mailbox->writing = false;
                        if (written.capacity() <= kMaxKept) {
                          mailbox->spare = std::move(written);
                        }
                      }
                      mailbox->changed.notify_all();
                    });
    });
  }

  // Destroyed last, since it owns what was posted.
  const std::shared_ptr<asio::io_context> context_;
  const std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  const std::shared_ptr<FrameStream> stream_;
  const uint64_t peer_replica_id_;
  std::atomic<milliseconds> frame_timeout_{milliseconds(0)};
  std::atomic<bool> peer_sends_unasked_{false};
};

rocksdb::Status SocketConnection::Send(const rocksdb::Slice& frame,
                                       milliseconds timeout) {
  if (frame.empty() || frame.size() > kMaxFrameBytes) {
    return rocksdb::Status::InvalidArgument(
        "a frame has 1 to " + std::to_string(kMaxFrameBytes) + " bytes",
        "this one has " + std::to_string(frame.size()));
  }
  std::string wire;
  {
    const std::lock_guard lock(mailbox_->mutex);
    wire.swap(mailbox_->spare);
  }
  wire.clear();
  wire.reserve(frame.size() + 4);
  AppendFrameHeader(frame.size(), &wire);
  wire.append(frame.data(), frame.size());

  std::unique_lock lock(mailbox_->mutex);
  if (!mailbox_->closed_because.ok()) return mailbox_->closed_because;
  mailbox_->writing = true;
  lock.unlock();
  StartWrite(std::move(wire));
  lock.lock();
  const milliseconds waited = Wait(
      &lock, timeout, [this] { return stream_->progress().taken; },
      [this] { return !mailbox_->writing || !mailbox_->closed_because.ok(); });
  if (!mailbox_->closed_because.ok()) return mailbox_->closed_because;
  if (!mailbox_->writing) return rocksdb::Status::OK();
  lock.unlock();
  const rocksdb::Status late = rocksdb::Status::TimedOut(
      peer_name() +
      (waited > timeout ? " took only part of a frame within "
                        : " took no data for ") +
      std::to_string(waited.count()) + " ms");
  // Bytes still unsent would delay the next connection.
  Break(late, FrameStream::Unsent::kDropped);
  return late;
}

// A read is started, since it also finds what TLS has decoded already.
bool SocketConnection::WhenReceivable(std::function<void()> on_receivable) {
  std::unique_lock lock(mailbox_->mutex);
  mailbox_->on_receivable = std::move(on_receivable);
  if (mailbox_->frame.has_value() || !mailbox_->closed_because.ok()) {
    lock.unlock();
    asio::post(*context_,
               [mailbox = mailbox_] { mailbox->RunReceivableCallback(); });
    return true;
  }
  const bool reading = std::exchange(mailbox_->reading, true);
  lock.unlock();
  if (!reading) StartRead({});
  return true;
}

rocksdb::Status SocketConnection::Receive(std::string* frame,
                                          milliseconds timeout) {
  std::unique_lock lock(mailbox_->mutex);
  const auto ended = [this] {
    return mailbox_->frame.has_value() || !mailbox_->closed_because.ok();
  };
  if (!ended() && !mailbox_->reading) {
    mailbox_->reading = true;
    lock.unlock();
    StartRead(std::move(*frame));
    lock.lock();
  }
  const milliseconds waited = Wait(
      &lock, timeout,
      [this] {
        // A peer that only answers, and is still taking what was sent to it,
        // had no time to answer yet.
        const TcpProgress progress = stream_->progress();
        return progress.received + (peer_sends_unasked_ ? 0 : progress.taken);
      },
      ended);
  if (mailbox_->frame.has_value()) {
    *frame = *std::exchange(mailbox_->frame, std::nullopt);
    lock.unlock();
    if (!frame->empty()) return rocksdb::Status::OK();
    const rocksdb::Status empty = rocksdb::Status::Corruption(
        "from " + peer_name(), "an empty frame, which no replica sends");
    Break(empty);
    return empty;
  }
  if (!mailbox_->closed_because.ok()) return mailbox_->closed_because;
  lock.unlock();
  const bool half = stream_->in_frame();
  const rocksdb::Status late = rocksdb::Status::TimedOut(
      peer_name() +
      (half ? " sent only part of a frame within " : " sent nothing for ") +
      std::to_string(waited.count()) + " ms");
  if (half && timeout > milliseconds(0)) {
    Break(late, FrameStream::Unsent::kDropped);
  }
  return late;
}

}  // namespace

std::unique_ptr<Connection> NewSocketConnection(
    std::shared_ptr<asio::io_context> context,
    std::shared_ptr<FrameStream> stream, uint64_t peer_replica_id) {
  return std::make_unique<SocketConnection>(std::move(context),
                                            std::move(stream), peer_replica_id);
}

}  // namespace rocksync
