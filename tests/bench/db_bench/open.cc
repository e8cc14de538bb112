#include "tests/bench/db_bench/open.h"

#include "rocksync/replicated_db.h"
#include "tests/support/open_plain.h"

namespace rocksync::db_bench {
namespace {

bool open_replicated = false;

}  // namespace

void OpenReplicated(bool replicated) { open_replicated = replicated; }

rocksdb::Status Open(const rocksdb::Options& options, const std::string& name,
                     rocksdb::DB** db) {
  if (!open_replicated) return OpenPlain(options, name, db);
  ReplicatedDBOptions replication;
  replication.cluster_name = "db_bench";
  replication.cluster_secret.fill(7);
  ReplicatedDB* opened = nullptr;
  const rocksdb::Status status =
      ReplicatedDB::Open(options, replication, name, &opened);
  *db = opened;
  return status;
}

rocksdb::Status Open(const rocksdb::Options& options, const std::string& name,
                     std::unique_ptr<rocksdb::DB>* db) {
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = Open(options, name, &opened);
  db->reset(opened);
  return status;
}

}  // namespace rocksync::db_bench
