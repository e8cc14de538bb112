// Answers the admin requests that operators' tools send over accepted
// connections.

#ifndef ROCKSYNC_REPLICATION_ADMIN_ADMIN_SERVER_H_
#define ROCKSYNC_REPLICATION_ADMIN_ADMIN_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "replication/admin/admin_messages.h"
#include "replication/clone/clone_source.h"
#include "replication/peering/admission.h"
#include "replication/peering/replicator_context.h"
#include "replication/session/session.h"
#include "rocksync/transport.h"
#include "rocksync/verify.h"

namespace rocksync {

// Runs Replicator::Verify, which ends between two looks once `cancelled`
// returns true.
using VerifyCall = std::function<rocksdb::Status(
    const std::string& peer, const VerifyOptions& options,
    const DifferenceCallback& differs, const std::function<bool()>& cancelled,
    VerifyResult* result)>;

// Answers requests. Thread-safe. `replica` and `clones` must outlive it.
class AdminServer {
 public:
  AdminServer(ReplicatorContext* replica, const CloneSource* clones,
              VerifyCall verify)
      : replica_(replica), clones_(clones), verify_(std::move(verify)) {}

  // Answers one request, `message`, of an authenticated client. Returns what
  // was wrong, if anything; the client has been told.
  rocksdb::Status Serve(Connection* connection, const Admission& admission,
                        const std::string& message);

 private:
  rocksdb::Status Answer(Connection* connection, const Request& request,
                         const SessionSeed& seed);
  rocksdb::Status Verify(Connection* connection, const Request& request);
  rocksdb::Status Compare(Connection* connection, const Request& request,
                          SessionSeed seed);
  rocksdb::Status Send(Connection* connection, Reply::Kind kind,
                       const std::string& text);

  ReplicatorContext* const replica_;
  const CloneSource* const clones_;
  const VerifyCall verify_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_ADMIN_ADMIN_SERVER_H_
