// Between what the public interface and what the protocol call a replica's
// incarnation.

#ifndef ROCKSYNC_REPLICATION_STORE_IDENTITY_INCARNATION_H_
#define ROCKSYNC_REPLICATION_STORE_IDENTITY_INCARNATION_H_

#include <cstdint>

#include "replication/protocol/incarnation.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

inline Incarnation IncarnationOf(const ReplicaIdentity& identity) {
  Incarnation incarnation = {{identity.incarnation, identity.incarnation_nonce},
                             identity.first_clock,
                             identity.clock,
                             {identity.past_since, {}}};
  for (const PastIncarnation& past : identity.past) {
    incarnation.past.incarnations.push_back(
        {{past.incarnation, past.incarnation_nonce}, past.next_clock});
  }
  return incarnation;
}

inline ReplicaIdentity IdentityOf(uint64_t replica_id,
                                  const Incarnation& incarnation) {
  ReplicaIdentity identity = {replica_id,
                              incarnation.incarnation.counter,
                              incarnation.incarnation.random,
                              incarnation.first_clock,
                              incarnation.clock,
                              incarnation.past.since,
                              {}};
  for (const FormerIncarnation& past : incarnation.past.incarnations) {
    identity.past.push_back(
        {past.incarnation.counter, past.incarnation.random, past.next_clock});
  }
  return identity;
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_IDENTITY_INCARNATION_H_
