// A replica of a benchmark: a database, a certificate, a replicator.

#ifndef ROCKSYNC_TESTS_BENCH_HEAL_REPLICA_H_
#define ROCKSYNC_TESTS_BENCH_HEAL_REPLICA_H_

#include <cstdint>
#include <memory>
#include <string>

#include "rocksdb/db.h"
#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"

namespace rocksync::bench {

// Says why on stderr if it is not OK.
bool Check(const rocksdb::Status& status);

// Pairs with scattered keys of 16 bytes. Values do not compress.
struct Pairs {
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t value_bytes = 0;
  uint64_t generation = 0;  // another one: other values for the same keys
};
inline constexpr uint64_t kKeyBytes = 16;

// In batches, in the order of their numbers, on this thread.
bool Write(rocksdb::DB* db, const Pairs& pairs);

// Flushes, and waits until nothing is left to do in the background.
bool Settle(rocksdb::DB* db);

// Writes pairs into a new database of plain RocksDB with default options in
// `directory`, which must not exist and is removed: in seconds, below 0 if it
// failed. With the pairs `before` in it, and settled.
double SecondsOfPlainWrites(const std::string& directory, const Pairs& before,
                            const Pairs& pairs);

// The cluster's name and secret; else default options.
ReplicatedDBOptions ReplicationOptions();

// With ReplicationOptions. A copy becomes another replica.
bool OpenReplica(const std::string& directory,
                 std::unique_ptr<ReplicatedDB>* db);

// Over TLS on loopback, without an interval: it serves, and syncs on request.
bool StartReplicator(const std::string& certificates, ReplicatedDB* db,
                     std::unique_ptr<Replicator>* replicator);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_HEAL_REPLICA_H_
