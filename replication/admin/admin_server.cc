#include "replication/admin/admin_server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "replication/admin/replies.h"
#include "replication/admin/status_report.h"
#include "replication/base/status.h"
#include "replication/peering/link.h"
#include "replication/peering/session_runner.h"
#include "replication/peering/verified_peer.h"
#include "replication/session/session.h"
#include "replication/store/store_access.h"
#include "rocksync/metrics.h"

namespace rocksync {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAdminSlotWait{500};
// The longest wait for the next look of a tool that compares. The transport
// closes idle connections sooner.
constexpr std::chrono::hours kBetweenLooks{1};

}  // namespace

rocksdb::Status AdminServer::Send(Connection* connection, Reply::Kind kind,
                                  const std::string& text) {
  return connection->Send(ReplyMessage({kind, text}),
                          replica_->options.io_timeout);
}

rocksdb::Status AdminServer::Serve(Connection* connection,
                                   const Admission& admission,
                                   const std::string& message) {
  Request request;
  rocksdb::Status s = ToRocksDb(ReadRequest(
      replica_->db->replication_options().cluster_secret, admission.auth_hello,
      admission.challenge, message, &request));
  if (s.ok()) {
    rocksdb::Log(rocksdb::InfoLogLevel::INFO_LEVEL, replica_->log,
                 "rocksync: admin request of kind %d from %s",
                 static_cast<int>(request.kind),
                 connection->peer_name().c_str());
    s = Answer(connection, request,
               {.dialer_nonce = admission.dialer_nonce,
                .listener_nonce = admission.listener_nonce,
                .session_number = 0});
  }
  if (!s.ok()) {
    (void)Send(connection, Reply::Kind::kError, s.ToString());
  }
  return s;
}

rocksdb::Status AdminServer::Answer(Connection* connection,
                                    const Request& request,
                                    const SessionSeed& seed) {
  switch (request.kind) {
    case Request::Kind::kStatus:
      return Send(connection, Reply::Kind::kDone,
                  StatusReport(*replica_, clones_->Served()).Text());
    case Request::Kind::kVerify:
      return Verify(connection, request);
    case Request::Kind::kCompare:
      return Compare(connection, request, seed);
  }
  return rocksdb::Status::InvalidArgument("an unknown request");
}

rocksdb::Status AdminServer::Verify(Connection* connection,
                                    const Request& request) {
  constexpr uint64_t kLongestWaitMs = 3'600'000;
  VerifyOptions options;
  options.max_keys = request.max_keys;
  options.in_flight_wait = milliseconds(
      static_cast<int64_t>(std::min(request.wait_ms, kLongestWaitMs)));
  VerifyResult result;
  rocksdb::Status sent;
  Replies replies(connection, replica_->options.io_timeout);
  const rocksdb::Status s = verify_(
      request.peer, options,
      [&](const KeyDifference& difference) {
        if (!sent.ok()) return;
        sent = replies.Send(Reply::Kind::kLine, ToJson(difference).Text());
      },
      [&replies] { return replies.asker_is_gone(); }, &result);
  if (!s.ok()) return s;
  if (!sent.ok()) return sent;
  return replies.Send(Reply::Kind::kDone, VerifyJson(result));
}

rocksdb::Status AdminServer::Compare(Connection* connection,
                                     const Request& request, SessionSeed seed) {
  // One view serves all looks; its families are those that the request names.
  const std::unique_ptr<ReplicaView> view =
      StoreAccess::NewView(replica_->db, replica_->pay_for_reads);
  rocksdb::Status s = CheckSameFamilies(view->family_names(), request.families);
  if (!s.ok()) return s;
  s = Send(connection, Reply::Kind::kDone, "");
  while (s.ok() && !replica_->stopping) {
    std::string first;
    // The tool ends the comparison by closing the connection.
    if (!connection->Receive(&first, kBetweenLooks).ok()) break;
    const SessionSlot slot = replica_->slots.AcquireForIncoming(
        connection->peer_replica_id(), kAdminSlotWait);
    SessionContext context;
    context.storage = view.get();
    context.busy = !slot;
    if (replica_->slots.paused()) context.busy_why = kPausedText;
    context.verify_only = true;
    const SessionRunEnd end =
        RunOneSession({.role = Role::kResponder,
                       .options = ToSessionOptions(*replica_),
                       .context = std::move(context),
                       .first = std::move(first)},
                      DriveOptionsOf(replica_), &seed, connection);
    if (!end.connection_usable) return end.status;
  }
  return s;
}

}  // namespace rocksync
