#include "replication/peering/stream_link.h"

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>

#include "replication/peering/streams.h"
#include "replication/session/messages.h"
#include "replication/store/format/status.h"
#include "replication/store/store_access.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// Whatever a peer allows.
constexpr uint64_t kMostWindowBytes = uint64_t{4} << 20;

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

StreamLink::StreamLink(Replica* replica, Link* link,
                       std::function<void()> repair)
    : replica_(replica),
      link_(link),
      context_{replica, link,   std::move(repair), [this] { return ended(); },
               {},      nullptr},
      sender_(&context_, StoreAccess::ChangesOf(replica->db)),
      receiver_(&context_, &sender_) {}

StreamLink::~StreamLink() { replica_->streams.Leave(link_->peer_id(), this); }

void StreamLink::Close() { link_->connection()->Close(); }

bool StreamLink::ended() const {
  const std::lock_guard lock(mutex_);
  return !end_.ok();
}

void StreamLink::End(const Status& why) {
  {
    const std::lock_guard lock(mutex_);
    if (end_.ok()) end_ = why;
  }
  Close();
  Wake();
}

Status StreamLink::Run(const std::string& first) {
  const Status status = Open(first);
  return status.ok() ? Carry() : status;
}

Status StreamLink::Open(const std::string& first) {
  const bool dialed = first.empty();
  const std::string mine = EncodeStreamOpen(
      {StreamSender::kWindowBytes,
       static_cast<uint64_t>(replica_->options.io_timeout.count()),
       replica_->options.zone});
  Status status = dialed ? Ask(mine) : Answer(first, mine);
  if (!status.ok()) return status;
  context_.theirs.window_bytes =
      std::min(context_.theirs.window_bytes, kMostWindowBytes);
  context_.line = replica_->stats.BeginStream(
      link_->peer_name(), link_->peer_id(), link_->open(),
      dialed ? Role::kInitiator : Role::kResponder);
  if (context_.repair != nullptr) context_.repair();
  return status;
}

bool StreamLink::Enter(bool dialed) {
  const uint64_t self = replica_->identity.replica_id;
  const uint64_t peer = link_->peer_id();
  return replica_->streams.Enter({peer, context_.theirs.zone},
                                 dialed ? self < peer : peer < self, this);
}

Status StreamLink::Ask(const std::string& mine) {
  const auto timeout = replica_->options.io_timeout;
  std::string theirs;
  Status status = link_->connection()->Send(mine, timeout);
  if (status.ok()) status = link_->connection()->Receive(&theirs, timeout);
  if (!status.ok()) return status;
  status = ToRocksDb(DecodeStreamOpen(theirs, &context_.theirs));
  if (!status.ok()) return Status::Busy("the peer opens no stream now");
  return Enter(/*dialed=*/true) ? status : AnotherIsOpen();
}

Status StreamLink::Answer(const std::string& first, const std::string& mine) {
  const auto timeout = replica_->options.io_timeout;
  const Status status = ToRocksDb(DecodeStreamOpen(first, &context_.theirs));
  if (!status.ok()) return status;
  if (!replica_->takes_streams() || !Enter(/*dialed=*/false)) {
    (void)link_->connection()->Send(NoStreamNow(), timeout);
    return AnotherIsOpen();
  }
  return link_->connection()->Send(mine, timeout);
}

Status StreamLink::Carry() {
  std::thread sender;
  try {
    sender = std::thread([this] {
      const Status status = sender_.Run();
      if (!status.ok()) End(status);
    });
  } catch (const std::system_error& error) {
    return Status::Aborted("cannot start a thread", error.what());
  }
  End(receiver_.Run());
  sender.join();
  return end_;
}

}  // namespace rocksync
