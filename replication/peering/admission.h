// Lets a peer in: both sides prove over a new connection that they know the
// cluster's secret. Until they have, its frames are small, it has a few seconds
// in all, and nothing that it says has an effect.

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

// From the first message to the last one.
inline constexpr std::chrono::milliseconds kProveTimeout{10'000};

struct AdmissionConfig {
  std::string cluster;  // its name
  ClusterSecret secret{};
  uint64_t shown_id = 0;  // Transport::replica_id() of this side
  std::chrono::milliseconds timeout = kProveTimeout;
};

struct Admission {
  // The whole messages.
  std::string auth_hello;
  std::string challenge;
  AuthNonce dialer_nonce{};
  AuthNonce listener_nonce{};
};

AdmissionConfig TermsOf(const ReplicatorContext& replica);

// OK: both have proven the secret; frames of up to kMaxSetupFrameBytes are
// received from now on. InvalidArgument: one of the two does not let the other
// in, the message says why, and the peer has been told. Others: the connection
// failed. AuthenticateAsDialer is the dialer's side, AuthenticateAsListener the
// listener's.
rocksdb::Status AuthenticateAsDialer(const AdmissionConfig& terms,
                                     Connection* connection,
                                     Admission* admission);
//
// AuthenticateAsListener: `began` is when this side began to wait for the first
// message, from which the time counts; `admission->auth_hello` is that message
// if ReceiveClusterName has received it, else empty.
rocksdb::Status AuthenticateAsListener(const AdmissionConfig& terms,
                                       AdmissionClock::time_point began,
                                       Connection* connection,
                                       Admission* admission);

// Where several clusters are listened for, before AuthenticateAsListener: the
// dialer's first message, whole, and the cluster that it names. An error: it is
// none; the peer has been told, as there.
rocksdb::Status ReceiveClusterName(Connection* connection,
                                   AdmissionClock::time_point began,
                                   std::string* auth_hello,
                                   std::string* cluster);

// Tells a peer that nobody here is of the cluster that it named; which ones
// are, it does not learn. InvalidArgument, with the text that it is told.
rocksdb::Status RefuseCluster(Connection* connection,
                              AdmissionClock::time_point began,
                              const std::string& cluster);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_ADMISSION_H_
