// Between what the public interface and what the protocol call a replica's
// life.

#ifndef ROCKSYNC_REPLICATION_STORE_IDENTITY_LIFE_H_
#define ROCKSYNC_REPLICATION_STORE_IDENTITY_LIFE_H_

#include <cstdint>

#include "replication/protocol/life.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

inline Life LifeOf(const ReplicaIdentity& identity) {
  Life life = {{identity.incarnation, identity.incarnation_nonce},
               identity.first_clock,
               identity.clock,
               {identity.past_since, {}}};
  for (const PastIncarnation& past : identity.past) {
    life.past.lives.push_back(
        {{past.incarnation, past.incarnation_nonce}, past.next_clock});
  }
  return life;
}

inline ReplicaIdentity IdentityOf(uint64_t replica_id, const Life& life) {
  ReplicaIdentity identity = {replica_id,
                              life.incarnation.counter,
                              life.incarnation.random,
                              life.first_clock,
                              life.clock,
                              life.past.since,
                              {}};
  for (const PastLife& past : life.past.lives) {
    identity.past.push_back(
        {past.incarnation.counter, past.incarnation.random, past.next_clock});
  }
  return identity;
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_IDENTITY_LIFE_H_
