// A small replica in memory, for the whole run of a fuzz target. It is never
// closed: what it would close by is gone when a process ends.

#ifndef ROCKSYNC_TESTS_FUZZ_SERVED_DATABASE_H_
#define ROCKSYNC_TESTS_FUZZ_SERVED_DATABASE_H_

#include <cstdlib>
#include <memory>
#include <string>

#include "replication/peering/replicator_context.h"
#include "rocksdb/env.h"
#include "rocksync/replicated_db.h"
#include "tests/fuzz/fed_transport.h"
#include "tests/support/forgetful_disk.h"

namespace rocksync {

class ServedDatabase {
 public:
  ServedDatabase() : env_(rocksdb::NewCompositeEnv(disk_.Mount())) {
    rocksdb::Options options;
    options.env = env_.get();
    options.create_if_missing = true;
    ReplicatedDBOptions replication;
    replication.cluster_name = "cluster";
    replication.cluster_secret = FuzzSecret();
    ReplicatedDB* db = nullptr;
    if (!ReplicatedDB::Open(options, replication, "/db", &db).ok()) {
      std::abort();
    }
    for (int i = 0; i < 100; ++i) {
      db->Put({}, std::to_string(i), std::string(50, 'v'))
          .PermitUncheckedError();
    }
    replica_ = std::make_unique<ReplicatorContext>(
        ReplicatorOptions(), db, std::make_shared<FedTransport>(""));
  }

  ReplicatorContext* replica() { return replica_.get(); }

 private:
  ForgetfulDisk disk_;
  const std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<ReplicatorContext> replica_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_FUZZ_SERVED_DATABASE_H_
