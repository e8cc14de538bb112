#include "tests/bench/db_bench/open.h"

#include "rocksync/replicated_db.h"
#include "tests/bench/db_bench/two_families_db.h"
#include "tests/support/open_plain.h"

namespace rocksync::db_bench {
namespace {

Kind kind = Kind::kPlain;

}  // namespace

bool SetKind(const std::string& name) {
  if (name == "plain") {
    kind = Kind::kPlain;
  } else if (name == "two_families") {
    kind = Kind::kTwoFamilies;
  } else if (name == "replicated") {
    kind = Kind::kReplicated;
  } else {
    return false;
  }
  return true;
}

rocksdb::Status Open(const rocksdb::Options& options, const std::string& name,
                     rocksdb::DB** db) {
  if (kind == Kind::kPlain) return OpenPlain(options, name, db);
  if (kind == Kind::kTwoFamilies) return TwoFamiliesDB::Open(options, name, db);
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
