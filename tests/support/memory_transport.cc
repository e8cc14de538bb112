#include "tests/support/memory_transport.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "replication/transport/frame.h"

namespace rocksync {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kMaxQueuedBytes = size_t{32} << 20;  // then Send blocks

// Both directions of one connection. Direction i carries what end i sends.
struct Pipe {
  struct Frame {
    Clock::time_point due;
    std::string bytes;
  };
  struct Direction {
    std::deque<Frame> frames;
    size_t queued_bytes = 0;
    uint64_t sent = 0;
    uint64_t received = 0;
  };

  std::mutex mutex;
  std::condition_variable changed;
  Direction directions[2];
  bool cut = false;
  bool closed[2] = {false, false};
  int64_t frames_left = -1;  // until it is cut; negative: never

  void Cut() {
    {
      const std::lock_guard lock(mutex);
      cut = true;
    }
    changed.notify_all();
  }
};

class Faults : public MemoryFaults {
 public:
  void SetDelay(milliseconds delay) override { delay_ms_ = delay.count(); }
  void SetDrop(bool drop) override { drop_ = drop; }
  void SetDown(bool down) override { down_ = down; }
  void Cut(int64_t frames) override {
    const std::lock_guard lock(mutex_);
    frames_ = frames;
    for (const std::weak_ptr<Pipe>& weak : pipes_) {
      if (const auto pipe = weak.lock()) pipe->Cut();
    }
    pipes_.clear();
  }

  void Track(const std::shared_ptr<Pipe>& pipe) {
    const std::lock_guard lock(mutex_);
    std::erase_if(pipes_, [](const auto& weak) { return weak.expired(); });
    pipes_.push_back(pipe);
    pipe->frames_left = frames_;
  }

  milliseconds delay() const { return milliseconds(delay_ms_); }
  bool drop() const { return drop_; }
  bool down() const { return down_; }

 private:
  std::atomic<int64_t> delay_ms_{0};
  std::atomic<bool> drop_{false};
  std::atomic<bool> down_{false};
  std::mutex mutex_;
  int64_t frames_ = -1;
  std::vector<std::weak_ptr<Pipe>> pipes_;
};

size_t WireSize(size_t frame_bytes) {
  std::string header;
  AppendFrameHeader(frame_bytes, &header);
  return header.size() + frame_bytes;
}

class End : public Connection {
 public:
  End(std::shared_ptr<Pipe> pipe, std::shared_ptr<Faults> faults, int index,
      uint64_t peer_id, std::string peer_name)
      : pipe_(std::move(pipe)),
        faults_(std::move(faults)),
        index_(index),
        peer_id_(peer_id),
        peer_name_(std::move(peer_name)) {}
  ~End() override { Close(); }

  rocksdb::Status Send(const rocksdb::Slice& frame,
                       milliseconds timeout) override;
  rocksdb::Status Receive(std::string* frame, milliseconds timeout) override;

  void SetFrameLimit(size_t bytes) override {
    const std::lock_guard lock(pipe_->mutex);
    frame_limit_ = bytes;
  }

  uint64_t peer_replica_id() const override { return peer_id_; }
  std::string peer_name() const override { return peer_name_; }
  uint64_t bytes_sent() const override {
    const std::lock_guard lock(pipe_->mutex);
    return pipe_->directions[index_].sent;
  }
  uint64_t bytes_received() const override {
    const std::lock_guard lock(pipe_->mutex);
    return pipe_->directions[1 - index_].received;
  }
  void Close() override {
    {
      const std::lock_guard lock(pipe_->mutex);
      pipe_->closed[index_] = true;
    }
    pipe_->changed.notify_all();
  }

 private:
  // What stops this end, the pipe's mutex being held; OK if nothing does.
  rocksdb::Status Broken() const {
    if (pipe_->closed[index_]) {
      return rocksdb::Status::Aborted("connection with " + peer_name_ +
                                      " closed on this side");
    }
    if (pipe_->cut || pipe_->closed[1 - index_]) {
      return rocksdb::Status::IOError(peer_name_ + " closed the connection");
    }
    return rocksdb::Status::OK();
  }

  const std::shared_ptr<Pipe> pipe_;
  const std::shared_ptr<Faults> faults_;  // may be null
  const int index_;
  const uint64_t peer_id_;
  const std::string peer_name_;
  size_t frame_limit_ = kMaxUnauthenticatedFrameBytes;
};

rocksdb::Status End::Send(const rocksdb::Slice& frame, milliseconds timeout) {
  if (frame.empty() || frame.size() > kMaxFrameBytes) {
    return rocksdb::Status::InvalidArgument(
        "a frame of " + std::to_string(frame.size()) + " bytes");
  }
  std::unique_lock lock(pipe_->mutex);
  Pipe::Direction& out = pipe_->directions[index_];
  const bool room = pipe_->changed.wait_for(lock, timeout, [&] {
    return out.queued_bytes < kMaxQueuedBytes || !Broken().ok();
  });
  if (rocksdb::Status s = Broken(); !s.ok()) return s;
  if (!room) return rocksdb::Status::TimedOut(peer_name_ + " takes no data");
  if (pipe_->frames_left == 0) {
    pipe_->cut = true;
    pipe_->changed.notify_all();
    return Broken();
  }
  if (pipe_->frames_left > 0) --pipe_->frames_left;
  out.sent += WireSize(frame.size());
  if (faults_ != nullptr && faults_->drop()) return rocksdb::Status::OK();
  const auto delay = faults_ != nullptr ? faults_->delay() : milliseconds(0);
  out.frames.push_back({Clock::now() + delay, frame.ToString()});
  out.queued_bytes += frame.size();
  pipe_->changed.notify_all();
  return rocksdb::Status::OK();
}

rocksdb::Status End::Receive(std::string* frame, milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  std::unique_lock lock(pipe_->mutex);
  Pipe::Direction& in = pipe_->directions[1 - index_];
  for (;;) {
    const Clock::time_point now = Clock::now();
    const bool lost = pipe_->closed[index_] || pipe_->cut;
    if (!lost && !in.frames.empty() && in.frames.front().due <= now) {
      if (in.frames.front().bytes.size() > frame_limit_) {
        pipe_->closed[index_] = true;
        pipe_->changed.notify_all();
        return rocksdb::Status::Corruption(
            "from " + peer_name_,
            "a frame claims " + std::to_string(in.frames.front().bytes.size()) +
                " bytes, the limit is " + std::to_string(frame_limit_));
      }
      *frame = std::move(in.frames.front().bytes);
      in.frames.pop_front();
      in.queued_bytes -= frame->size();
      in.received += WireSize(frame->size());
      pipe_->changed.notify_all();
      return rocksdb::Status::OK();
    }
    // What the peer sent before it closed still arrives; a cut loses it.
    if (lost || in.frames.empty()) {
      if (rocksdb::Status s = Broken(); !s.ok()) return s;
    }
    if (now >= deadline) {
      return rocksdb::Status::TimedOut(peer_name_ + " sent nothing for " +
                                       std::to_string(timeout.count()) + " ms");
    }
    pipe_->changed.wait_until(
        lock, in.frames.empty() ? deadline
                                : std::min(deadline, in.frames.front().due));
  }
}

MemoryPipe MakePipe(const std::shared_ptr<Faults>& faults, uint64_t dialer_id,
                    uint64_t listener_id, const std::string& dialer_name,
                    const std::string& listener_name) {
  const auto pipe = std::make_shared<Pipe>();
  if (faults != nullptr) faults->Track(pipe);
  MemoryPipe ends;
  ends.dialer =
      std::make_unique<End>(pipe, faults, 0, listener_id, listener_name);
  ends.listener =
      std::make_unique<End>(pipe, faults, 1, dialer_id, dialer_name);
  return ends;
}

using AcceptCallback = std::function<void(std::unique_ptr<Connection>)>;

struct Listener {
  uint64_t replica_id;
  AcceptCallback accept;
};

// The names of a network. `mutex` is held while an accept callback runs, so
// that none runs after its listener is gone.
struct Board {
  std::mutex mutex;
  std::map<std::string, Listener> listeners;
};

class MemoryTransport : public Transport {
 public:
  MemoryTransport(std::shared_ptr<Board> board, uint64_t replica_id,
                  std::shared_ptr<Faults> faults)
      : board_(std::move(board)),
        replica_id_(replica_id),
        faults_(std::move(faults)) {}
  ~MemoryTransport() override { StopListening(); }

  rocksdb::Status Connect(const std::string& address, milliseconds timeout,
                          const std::function<bool()>& cancelled,
                          std::unique_ptr<Connection>* connection) override {
    if (cancelled != nullptr && cancelled()) {
      return rocksdb::Status::Aborted("connecting to " + address +
                                      " was cancelled");
    }
    const std::lock_guard lock(board_->mutex);
    const auto found = board_->listeners.find(address);
    if (found == board_->listeners.end() ||
        (faults_ != nullptr && faults_->down())) {
      return rocksdb::Status::IOError("cannot connect to " + address,
                                      "nobody listens");
    }
    MemoryPipe ends = MakePipe(faults_, replica_id_, found->second.replica_id,
                               "dialer of " + address, address);
    found->second.accept(std::move(ends.listener));
    *connection = std::move(ends.dialer);
    return rocksdb::Status::OK();
  }

  rocksdb::Status Listen(const std::string& address,
                         AcceptCallback accept) override {
    const std::lock_guard lock(board_->mutex);
    const Listener listener{replica_id_, std::move(accept)};
    if (!board_->listeners.emplace(address, listener).second) {
      return rocksdb::Status::IOError("cannot listen on " + address,
                                      "the name is taken");
    }
    address_ = address;
    return rocksdb::Status::OK();
  }

  std::string listen_address() const override {
    const std::lock_guard lock(board_->mutex);
    return address_;
  }

  uint64_t replica_id() const override { return replica_id_; }

  void StopListening() override {
    const std::lock_guard lock(board_->mutex);
    if (!address_.empty()) board_->listeners.erase(address_);
    address_.clear();
  }

 private:
  const std::shared_ptr<Board> board_;
  const uint64_t replica_id_;
  const std::shared_ptr<Faults> faults_;  // may be null
  std::string address_;
};

class Network : public MemoryNetwork {
 public:
  std::shared_ptr<Transport> Join(
      uint64_t replica_id, std::shared_ptr<MemoryFaults> faults) override {
    return std::make_shared<MemoryTransport>(
        board_, replica_id, std::static_pointer_cast<Faults>(faults));
  }

 private:
  const std::shared_ptr<Board> board_ = std::make_shared<Board>();
};

}  // namespace

MemoryPipe NewMemoryPipe(std::shared_ptr<MemoryFaults> faults,
                         uint64_t dialer_id, uint64_t listener_id) {
  return MakePipe(std::static_pointer_cast<Faults>(faults), dialer_id,
                  listener_id, "dialer", "listener");
}

std::shared_ptr<MemoryFaults> NewMemoryFaults() {
  return std::make_shared<Faults>();
}

std::shared_ptr<MemoryNetwork> NewMemoryNetwork() {
  return std::make_shared<Network>();
}

}  // namespace rocksync
