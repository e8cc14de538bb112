// One replica of the benchmark: a database in a directory, and a replicator
// over TLS on loopback.

#ifndef ROCKSYNC_TESTS_BENCH_LIVE_REPLICA_H_
#define ROCKSYNC_TESTS_BENCH_LIVE_REPLICA_H_

#include <cstdint>
#include <memory>
#include <string>

#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"

namespace rocksync {

// Ends the process if it is not OK.
void Check(const rocksdb::Status& status);

// How often is looked whether a key is there.
inline constexpr unsigned kPollUs = 50;

// Of a clock that all processes of the machine share.
uint64_t NowNs();

class BenchReplica {
 public:
  // `certificates`: directory of the trial CA.
  BenchReplica(const std::string& directory, std::string certificates);
  ~BenchReplica();

  void Start(const ReplicatorOptions& options);
  void Stop() { replicator_.reset(); }

  ReplicatedDB* db() { return db_.get(); }
  Replicator* replicator() { return replicator_.get(); }

 private:
  const std::string certificates_;
  std::unique_ptr<ReplicatedDB> db_;
  std::unique_ptr<Replicator> replicator_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_BENCH_LIVE_REPLICA_H_
