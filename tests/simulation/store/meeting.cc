#include "tests/simulation/store/meeting.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "replication/peering/admission.h"
#include "replication/peering/link.h"

namespace rocksync::store_simulation {
namespace {

using rocksdb::Status;
using std::chrono::milliseconds;

thread_local bool in_session = false;

class SessionMark {
 public:
  SessionMark() : before_(std::exchange(in_session, true)) {}
  ~SessionMark() { in_session = before_; }

 private:
  const bool before_;
};

// What lies between the two ends, 0 the dialer's and 1 the listener's.
class Wire {
 public:
  explicit Wire(const MeetingPlan& plan) : plan_(plan) {}

  void Close() { closed_ = true; }
  bool closed() const { return closed_; }

  Status Send(int from, const rocksdb::Slice& frame) {
    if (closed_ || over_[1 - from]) return Status::IOError("closed");
    const std::string_view view(frame.data(), frame.size());
    const bool session = std::exchange(in_session, false);
    const Fate fate =
        plan_.on_frame ? plan_.on_frame(from == 0, view) : Fate::kArrives;
    in_session = session;
    if (fate == Fate::kCuts) closed_ = true;
    if (fate == Fate::kIsLost) lost_ = true;
    if (closed_) return Status::IOError("cut");
    if (!lost_) frames_[1 - from].emplace_back(view);
    return Status::OK();
  }

  // Silence of both is what would time out.
  Status Receive(int at, bool wait, std::string* frame) {
    while (true) {
      if (closed_) return Status::IOError("closed");
      if (!frames_[at].empty()) {
        *frame = std::move(frames_[at].front());
        frames_[at].pop_front();
        return Status::OK();
      }
      if (!wait) return Status::TimedOut("nothing has come");
      if (over_[1 - at]) return Status::IOError("closed by the peer");
      if (waits_[1 - at] && frames_[1 - at].empty()) {
        return Status::TimedOut("nothing was heard");
      }
      waits_[at] = true;
      PassTurn(at);
      waits_[at] = false;
    }
  }

  // The other end's turn, until it gives it back.
  void PassTurn(int from) {
    std::unique_lock lock(mutex_);
    turn_ = 1 - from;
    turned_.notify_all();
    turned_.wait(lock, [&] { return turn_ == from; });
  }
  void AwaitTurn(int at) {
    std::unique_lock lock(mutex_);
    turned_.wait(lock, [&] { return turn_ == at; });
  }
  // This end does nothing any more.
  void Leave(int from) {
    std::unique_lock lock(mutex_);
    over_[from] = true;
    turn_ = 1 - from;
    turned_.notify_all();
  }

 private:
  const MeetingPlan& plan_;
  std::mutex mutex_;  // of turn_; all else belongs to whose turn it is
  std::condition_variable turned_;
  int turn_ = 0;
  bool over_[2] = {};
  bool waits_[2] = {};
  bool closed_ = false;
  bool lost_ = false;
  std::deque<std::string> frames_[2];  // to each end
};

class End final : public Connection {
 public:
  End(Wire* wire, int at, uint64_t peer_id)
      : wire_(wire), at_(at), peer_id_(peer_id) {}

  Status Send(const rocksdb::Slice& frame, milliseconds timeout) override {
    sent_ += frame.size();
    return wire_->Send(at_, frame);
  }
  Status Receive(std::string* frame, milliseconds timeout) override {
    const Status status = wire_->Receive(at_, timeout.count() > 0, frame);
    if (!status.ok()) return status;
    received_ += frame->size();
    return frame->size() <= limit_ ? status
                                   : Status::Corruption("too large a frame");
  }
  void SetFrameLimit(size_t bytes) override { limit_ = bytes; }
  uint64_t peer_replica_id() const override { return peer_id_; }
  std::string peer_name() const override { return "peer"; }
  uint64_t bytes_sent() const override { return sent_; }
  uint64_t bytes_received() const override { return received_; }
  void Close() override { wire_->Close(); }

 private:
  Wire* const wire_;
  const int at_;
  const uint64_t peer_id_;
  size_t limit_ = kMaxUnauthenticatedFrameBytes;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
};

// As Acceptor does it.
Status Serve(ReplicatorContext* replica,
             std::unique_ptr<Connection> connection) {
  Admission admission;
  Status status =
      AuthenticateAsListener(AdmissionConfigOf(*replica), AdmissionClock::now(),
                             connection.get(), &admission);
  if (!status.ok()) return status;
  ListedConnection listed(&replica->connections, std::move(connection));
  std::string first;
  status = listed->Receive(&first, replica->options.io_timeout);
  if (!status.ok()) return status;
  std::unique_ptr<Link> link;
  status = Link::Accept(replica, std::move(listed), std::move(first), &link);
  if (!status.ok()) return status;
  while (link->AwaitSession(&first).ok()) {
    if (!link->RunSession(std::move(first), /*slot=*/true).link_usable) break;
  }
  return status;
}

void Dial(ReplicatorContext* replica, std::unique_ptr<Connection> connection,
          const MeetingPlan& plan, MeetingEnd* end) {
  std::unique_ptr<Link> link;
  end->status = Link::Open(replica, std::move(connection), &link);
  if (!end->status.ok()) return;
  for (int i = 0; i < plan.sessions; ++i) {
    if (plan.before_session) plan.before_session();
    const SessionResult result = link->RunSession("", /*slot=*/true);
    end->status = result.status;
    const bool proven = result.status.ok() && !result.busy && !result.expired;
    if (proven) {
      ++end->proofs;
      const bool session = std::exchange(in_session, false);
      if (plan.proven) plan.proven();
      in_session = session;
    }
    if (!proven || !result.link_usable || link->stale()) break;
  }
}

}  // namespace

bool InSession() { return in_session; }

MeetingEnd Meet(ReplicatorContext* dialer, ReplicatorContext* listener,
                const MeetingPlan& plan) {
  Wire wire(plan);
  MeetingEnd end;
  std::thread other([&] {
    wire.AwaitTurn(1);
    const SessionMark mark;
    end.listener_status = Serve(
        listener, std::make_unique<End>(&wire, 1, dialer->identity.replica_id));
    wire.Leave(1);
  });
  {
    const SessionMark mark;
    Dial(dialer, std::make_unique<End>(&wire, 0, listener->identity.replica_id),
         plan, &end);
  }
  wire.Leave(0);
  other.join();
  return end;
}

}  // namespace rocksync::store_simulation
