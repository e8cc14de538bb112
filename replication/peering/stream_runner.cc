#include "replication/peering/stream_runner.h"

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "replication/base/status.h"
#include "replication/peering/heartbeat.h"
#include "replication/peering/streams.h"
#include "replication/peering/timeout_remedy.h"
#include "replication/session/messages.h"
#include "replication/store/store_access.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// The largest window that is used, whatever the peer allows.
constexpr uint64_t kMaxWindowBytes = uint64_t{4} << 20;

Status AnotherIsOpen() {
  return Status::Busy("another stream with this peer is open");
}

std::string NoStreamNow() {
  std::string no(1, static_cast<char>(static_cast<uint8_t>(MessageType::kEnd) |
                                      kLastOfTurn));
  EncodeEnd({EndReason::kBusy, "no stream now"}, &no);
  return no;
}

}  // namespace

StreamRunner::StreamRunner(ReplicatorContext* replica, Link* link,
                           std::function<void()> repair)
    : replica_(replica),
      link_(link),
      stream_(replica, link, std::move(repair), [this] { return ended(); }),
      outgoing_(&stream_),
      incoming_(&stream_) {}

StreamRunner::~StreamRunner() {
  replica_->streams.Leave(link_->peer_id(), this);
}

// Setting closed_ also ends waits for a rate.
void StreamRunner::Close() {
  closed_ = true;
  link_->connection()->Close();
}

void StreamRunner::AskFor(const std::vector<ShortHash>& hashes) {
  stream_.WithDues([&](StreamDues* dues) {
    std::vector<ShortHash>& to_ask_for = dues->lists.to_ask_for;
    to_ask_for.insert(to_ask_for.end(), hashes.begin(), hashes.end());
  });
  Wake();
}

bool StreamRunner::ended() const {
  if (closed_) return true;
  const std::lock_guard lock(mutex_);
  return !end_.ok();
}

void StreamRunner::End(const Status& why) {
  {
    const std::lock_guard lock(mutex_);
    if (end_.ok()) end_ = why;
  }
  Close();
  Wake();
}

Status StreamRunner::Run(const std::string& first) {
  const Status status = Open(first);
  if (!status.ok()) return AddTimeoutRemedy(status);
  link_->connection()->SetFrameTimeout(kMaxPatience *
                                       replica_->options.io_timeout);
  link_->connection()->SetPeerSendsUnasked();
  return AddTimeoutRemedy(Carry());
}

Status StreamRunner::Open(const std::string& first) {
  const bool dialed = first.empty();
  StreamFacts facts{
      .peer_id = link_->peer_id(),
      .peer_name = link_->peer_name(),
      .dialed = dialed,
      .mine = {kWindowBytes,
               static_cast<uint64_t>(replica_->options.io_timeout.count()),
               replica_->options.zone},
      .theirs = {}};
  const std::string mine = EncodeStreamOpen(facts.mine);
  const Status status =
      dialed ? Ask(mine, &facts.theirs) : Answer(first, mine, &facts.theirs);
  if (!status.ok()) return status;
  facts.theirs.window_bytes =
      std::min(facts.theirs.window_bytes, kMaxWindowBytes);
  stream_.Open(std::move(facts),
               replica_->stats.BeginStream(
                   link_->peer_name(), link_->peer_id(), link_->open(),
                   dialed ? Role::kInitiator : Role::kResponder,
                   [this] { return stream_.Lag(); }));
  if (dialed) stream_.BeginRepair();
  return status;
}

bool StreamRunner::Enter(bool dialed, const std::string& zone) {
  const uint64_t self = replica_->identity.replica_id;
  const uint64_t peer = link_->peer_id();
  return replica_->streams.Enter({peer, zone},
                                 dialed ? self < peer : peer < self, this);
}

Status StreamRunner::Ask(const std::string& mine, StreamOpen* theirs) {
  const auto timeout = replica_->options.io_timeout;
  std::string answer;
  Status status = link_->connection()->Send(mine, timeout);
  if (status.ok()) status = link_->connection()->Receive(&answer, timeout);
  if (!status.ok()) return status;
  status = ToRocksDb(DecodeStreamOpen(answer, theirs));
  if (!status.ok())
    return Status::Busy(
        "the peer opens no stream now",
        "it is paused or has streams off (ReplicatorOptions::stream); sessions "
        "carry what is written meanwhile");
  return Enter(/*dialed=*/true, theirs->zone) ? status : AnotherIsOpen();
}

Status StreamRunner::Answer(const std::string& first, const std::string& mine,
                            StreamOpen* theirs) {
  const auto timeout = replica_->options.io_timeout;
  const Status status = ToRocksDb(DecodeStreamOpen(first, theirs));
  if (!status.ok()) return status;
  if (!replica_->takes_streams() || !Enter(/*dialed=*/false, theirs->zone)) {
    (void)link_->connection()->Send(NoStreamNow(), timeout);
    return AnotherIsOpen();
  }
  return link_->connection()->Send(mine, timeout);
}

Status StreamRunner::Carry() {
  std::thread sender;
  try {
    sender = std::thread([this] {
      const Status status = SendChanges();
      if (!status.ok()) End(status);
    });
  } catch (const std::system_error& error) {
    return NoThread(error.what());
  }
  End(ReceiveChanges());
  sender.join();
  return end_;
}

Status StreamRunner::SendChanges() {
  outgoing_.Begin();
  while (!ended()) {
    stream_.Wait(outgoing_.NextDueMs(),
                 /*ignore_changes=*/outgoing_.Window() == 0);
    if (ended()) break;
    const absl::Status status = outgoing_.Step();
    stream_.EndStep();
    if (!status.ok()) return stream_.WhySendingEnds(status);
  }
  return Status::OK();
}

Status StreamRunner::ReceiveChanges() {
  Connection* const connection = link_->connection();
  const auto timeout = replica_->options.io_timeout;
  uint64_t counted = connection->bytes_received();
  std::string message;
  while (true) {
    Status status = connection->Receive(&message, timeout);
    if (!status.ok()) return status;
    const uint64_t wire = connection->bytes_received();
    stream_.line()->AddReceived(wire - std::exchange(counted, wire));
    // An answer is charged without a wait, so that what this side has sent does
    // not delay it.
    if (IsAnswer(message)) {
      (void)replica_->bytes.Charge(message.size(), TokenBucket::Clock::now());
    } else if (!replica_->bytes.Pay(message.size(), timeout / 4, [this] {
                 return replica_->stopped() || ended();
               })) {
      return Status::Aborted("the stream ends");
    }
    status = ToRocksDb(incoming_.Receive(message));
    if (!status.ok()) return status;
  }
}

}  // namespace rocksync
