#include "tests/bench/live/replica.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "rocksdb/options.h"
#include "tests/support/trial_transport.h"

namespace rocksync {

void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "bench_live: %s\n", status.ToString().c_str());
  std::exit(1);
}

uint64_t NowNs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

BenchReplica::BenchReplica(const std::string& directory,
                           std::string certificates)
    : certificates_(std::move(certificates)) {
  rocksdb::Options options;
  options.create_if_missing = true;
  ReplicatedDBOptions replication;
  replication.cluster_name = "live";
  replication.cluster_secret.fill(1);
  ReplicatedDB* db = nullptr;
  Check(ReplicatedDB::Open(options, replication, directory, &db));
  db_.reset(db);
}

BenchReplica::~BenchReplica() {
  replicator_.reset();
  Check(db_->Close());
}

void BenchReplica::Start(const ReplicatorOptions& options) {
  std::shared_ptr<Transport> transport;
  Check(
      NewTrialTransport(certificates_, db_->Identity().replica_id, &transport));
  Check(Replicator::Start(options, db_.get(), transport, &replicator_));
}

}  // namespace rocksync
