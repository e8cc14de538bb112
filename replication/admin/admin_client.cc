#include "replication/admin/admin_client.h"

#include <algorithm>

#include "replication/base/status.h"
#include "replication/metrics/json.h"
#include "replication/peering/admission.h"
#include "replication/peering/heartbeat.h"
#include "replication/peering/session_runner.h"
#include "replication/session/message_type.h"

namespace rocksync {
namespace {

constexpr int kBusyTries = 100;

bool NeverCancelled() { return false; }

// Rebuilds the replica's own status from its text, which it sends in the form
// of Status::ToString. It may send anything, so only what is printable is
// passed on to a terminal.
rocksdb::Status Refused(const std::string& address, const Reply& reply) {
  using rocksdb::Slice;
  using rocksdb::Status;
  const std::string who = "the replica at " + address + " says";
  const std::string text = PrintableAscii(reply.text);
  constexpr Status (*kKinds[])(const Slice&, const Slice&) = {
      Status::InvalidArgument, Status::IOError,    Status::Busy,
      Status::TryAgain,        Status::TimedOut,   Status::Incomplete,
      Status::NotSupported,    Status::Corruption, Status::Aborted};
  for (const auto kind : kKinds) {
    const std::string name = kind("", "").ToString();
    if (text.starts_with(name)) {
      return kind(who, text.substr(name.size()));
    }
  }
  return Status::Aborted(who, text);
}

}  // namespace

rocksdb::Status AdminClient::Open(const AdminTarget& target,
                                  const Request& request,
                                  std::unique_ptr<AdminClient>* admin_client) {
  std::unique_ptr<AdminClient> opened(new AdminClient);
  opened->target_ = target;
  std::unique_ptr<Connection> connection;
  rocksdb::Status s = target.transport->Connect(
      target.address, target.timeout,
      [&target] { return target.connections->closed(); }, &connection);
  if (!s.ok()) return s;
  opened->connection_.emplace(target.connections.get(), std::move(connection));
  s = opened->Ask(request);
  if (s.ok()) *admin_client = std::move(opened);
  return s;
}

rocksdb::Status AdminClient::Ask(const Request& request) {
  Admission admission;
  const rocksdb::Status s = AuthenticateAsDialer(
      {.cluster = target_.cluster,
       .secret = target_.secret,
       .shown_id = target_.transport->replica_id(),
       .timeout = std::min(kProveTimeout, target_.timeout)},
      connection_->get(), &admission);
  if (!s.ok()) return s;
  seed_.dialer_nonce = admission.dialer_nonce;
  seed_.listener_nonce = admission.listener_nonce;
  // The answer may be large, and take long.
  (*connection_)->SetFrameLimit(kMaxFrameBytes);
  (*connection_)->SetFrameTimeout(kMaxPatience * target_.timeout);
  return (*connection_)
      ->Send(RequestMessage(target_.secret, admission.auth_hello,
                            admission.challenge, request),
             target_.timeout);
}

rocksdb::Status AdminClient::Answer(
    const std::function<void(const std::string&)>& line, std::string* last) {
  for (;;) {
    std::string message;
    rocksdb::Status s = (*connection_)->Receive(&message, target_.timeout);
    if (s.ok() && line != nullptr && Heartbeat::Is(message)) {
      s = (*connection_)->Send(Heartbeat::Message(), target_.timeout);
      if (s.ok()) continue;
    }
    Reply reply;
    if (s.ok()) s = ToRocksDb(ReadReply(message, &reply));
    if (!s.ok()) return s;
    switch (reply.kind) {
      case Reply::Kind::kError:
        return Refused(target_.address, reply);
      case Reply::Kind::kDone:
        *last = std::move(reply.text);
        return s;
      case Reply::Kind::kLine:
        // Otherwise lines without end would keep the caller.
        if (line == nullptr) {
          return rocksdb::Status::Corruption(
              target_.address,
              "answered with several replies where one is due; use a tool of "
              "the replica's release");
        }
        line(reply.text);
        break;
    }
  }
}

rocksdb::Status AdminClient::Compare(StorageView* mine, const VerifyTask& task,
                                     SessionReport* report) {
  TokenBucket unlimited;
  for (int attempt = 0; attempt < kBusyTries; ++attempt) {
    SessionContext context;
    context.storage = mine;
    context.verify = &task;
    SessionRunEnd end = RunOneSession({.role = Role::kInitiator,
                                       .options = {},
                                       .context = std::move(context),
                                       .first = {}},
                                      {.io_timeout = target_.timeout,
                                       .cancelled = NeverCancelled,
                                       .bytes = &unlimited},
                                      &seed_, connection_->get());
    *report = std::move(end.report);
    if (!end.status.ok() || !report->busy) return end.status;
    if (!report->why.empty()) {
      return rocksdb::Status::Busy(target_.address, report->why);
    }
  }
  return rocksdb::Status::Busy("peer busy: the replica is in another session",
                               "try again");
}

}  // namespace rocksync
