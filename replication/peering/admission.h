// Authenticates a new connection: both sides prove that they know the cluster's
// secret. Until then the peer's frames are small, it has a few seconds in all,
// and nothing that it says has an effect.

#ifndef ROCKSYNC_REPLICATION_PEERING_ADMISSION_H_
#define ROCKSYNC_REPLICATION_PEERING_ADMISSION_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "replication/membership/authentication.h"
#include "replication/peering/replicator_context.h"
#include "rocksdb/status.h"
#include "rocksync/transport.h"

namespace rocksync {

using AdmissionClock = std::chrono::steady_clock;

// Time limit of a whole authentication, from the first message to the last.
inline constexpr std::chrono::milliseconds kProveTimeout{10'000};

struct AdmissionConfig {
  std::string cluster;  // its name
  ClusterSecret secret{};
  uint64_t shown_id = 0;  // Transport::replica_id() of this side
  std::chrono::milliseconds timeout = kProveTimeout;
};

struct Admission {
  // The whole messages, as sent.
  std::string auth_hello;
  std::string challenge;
  AuthNonce dialer_nonce{};
  AuthNonce listener_nonce{};
};

AdmissionConfig AdmissionConfigOf(const ReplicatorContext& replica);

// Runs the dialer's side of the authentication. OK: both sides have proven the
// secret; frames of up to kMaxSetupFrameBytes are received from now on.
// InvalidArgument: one side does not let the other in, and the peer has been
// told; or the peer's message is malformed. The error's text says why. Other
// errors: the connection failed.
rocksdb::Status AuthenticateAsDialer(const AdmissionConfig& config,
                                     Connection* connection,
                                     Admission* admission);

// Runs the listener's side, with the results of AuthenticateAsDialer. The time
// limit counts from `began`, when this side began to wait for the first
// message. `admission->auth_hello` is that message if ReceiveClusterName has
// received it, else empty.
rocksdb::Status AuthenticateAsListener(const AdmissionConfig& config,
                                       AdmissionClock::time_point began,
                                       Connection* connection,
                                       Admission* admission);

// Receives the dialer's first message, whole, and reads the cluster's name in
// it. A listener for several clusters calls this before AuthenticateAsListener.
// Errors as there: the message did not come, or is not an AuthHello.
rocksdb::Status ReceiveClusterName(Connection* connection,
                                   AdmissionClock::time_point began,
                                   std::string* auth_hello,
                                   std::string* cluster);

// Tells a peer that no replica here belongs to the cluster that it named. The
// peer does not learn which clusters there are. Returns InvalidArgument with
// the text that the peer is told.
rocksdb::Status RefuseCluster(Connection* connection,
                              AdmissionClock::time_point began,
                              const std::string& cluster);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_ADMISSION_H_
