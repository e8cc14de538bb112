// What two replicas say before their first session.

#ifndef ROCKSYNC_TESTS_INTEGRATION_VECTORS_CONNECTION_H_
#define ROCKSYNC_TESTS_INTEGRATION_VECTORS_CONNECTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "replication/membership/authentication.h"
#include "replication/membership/setup.h"

namespace rocksync {

// AuthHello, Challenge and Proof, with the nonces of vectors.h.
std::vector<std::string> Authenticate(const AuthIds& ids,
                                      const ClusterSecret& secret);

// Replica 1 (the dialer) or 2 (the listener) of the document: in its first
// incarnation, without a member list.
SetupFacts FactsOf(uint64_t replica_id);

// The messages, in order.
std::vector<std::string> SetUp(const SetupFacts& dialer,
                               const SetupFacts& listener,
                               const ClusterSecret& secret);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_VECTORS_CONNECTION_H_
