// The client of an admin request, for operators' tools: a connection to a
// running replica that carries one request.

#ifndef ROCKSYNC_REPLICATION_ADMIN_ADMIN_CLIENT_H_
#define ROCKSYNC_REPLICATION_ADMIN_ADMIN_CLIENT_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "replication/admin/admin_messages.h"
#include "replication/peering/open_connections.h"
#include "replication/session/session.h"
#include "replication/session/storage_view.h"
#include "rocksdb/status.h"
#include "rocksync/transport.h"

namespace rocksync {

// The replica to ask, and the credentials for it.
struct AdminTarget {
  std::shared_ptr<Transport> transport;
  std::string address;
  std::string cluster;  // its name
  ClusterSecret secret{};
  std::chrono::milliseconds timeout{30'000};  // for a silent replica
  // Closing these, from any thread, ends every wait for a replica.
  std::shared_ptr<OpenConnections> connections =
      std::make_shared<OpenConnections>();
};

// Sends one request and receives its answer. Not thread-safe.
class AdminClient {
 public:
  // Connects and sends the request. InvalidArgument: one of the two refuses the
  // other.
  static rocksdb::Status Open(const AdminTarget& target, const Request& request,
                              std::unique_ptr<AdminClient>* admin_client);

  // Receives the answer, and calls `line` for each line except the last, whose
  // text is put into `*last`. TimedOut: the replica was silent for the target's
  // timeout; one that works on the answer sends heartbeats. If `line` is null,
  // the answer has one line: a further one is Corruption, and a heartbeat
  // InvalidArgument. An error that the replica sends instead of an answer has
  // the kind of the replica's own status; its text is printable.
  rocksdb::Status Answer(const std::function<void(const std::string&)>& line,
                         std::string* last);

  // Runs one session that only compares, as initiator.
  // REQUIRES: a request to compare was answered.
  rocksdb::Status Compare(StorageView* mine, const VerifyTask& task,
                          SessionReport* report);

 private:
  AdminClient() = default;
  rocksdb::Status Ask(const Request& request);

  AdminTarget target_;
  std::optional<ListedConnection> connection_;
  SessionSeed seed_{};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_ADMIN_ADMIN_CLIENT_H_
