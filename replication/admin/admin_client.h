// The operator's side of an admin request: a connection to a running replica
// that carries one request.

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

// Whom to ask, and what proves that one may.
struct AdminTarget {
  std::shared_ptr<Transport> transport;
  std::string address;
  std::string cluster;  // its name
  ClusterSecret secret{};
  std::chrono::milliseconds timeout{30'000};  // of a silent replica
  // Closing them ends whatever waits for a replica, from any thread.
  std::shared_ptr<OpenConnections> connections =
      std::make_shared<OpenConnections>();
};

// Not thread-safe.
class AdminClient {
 public:
  // Connects and asks. InvalidArgument: one of the two refuses the other.
  static rocksdb::Status Open(const AdminTarget& target, const Request& request,
                              std::unique_ptr<AdminClient>* admin_client);

  // The answer, line by line. TimedOut: the replica was silent for the target's
  // timeout; one that works on the answer shows that it does. Without `line` it
  // has one line, and more, or such signs, are Corruption.
  // OK: `*last` is the text of the last one. What the replica says instead of
  // an answer has the kind of the replica's own status, and its text is
  // printable.
  rocksdb::Status Answer(const std::function<void(const std::string&)>& line,
                         std::string* last);

  // After a request to compare was answered: one session, as initiator.
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
