// How RocksDB's own benchmark (db_bench) opens its database here: its source is
// altered by tests/support/patch_rocksdb_program.py to call this.

#ifndef ROCKSYNC_TESTS_BENCH_DB_BENCH_OPEN_H_
#define ROCKSYNC_TESTS_BENCH_DB_BENCH_OPEN_H_

#include <memory>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace rocksync::db_bench {

// plain: RocksDB's own. two_families: TwoFamiliesDB. replicated: ReplicatedDB.
enum class Kind { kPlain, kTwoFamilies, kReplicated };

// What Open opens; kPlain unless set. Before the first Open. False: there is
// no kind of that name.
bool SetKind(const std::string& name);

// As rocksdb::DB::Open.
rocksdb::Status Open(const rocksdb::Options& options, const std::string& name,
                     rocksdb::DB** db);
rocksdb::Status Open(const rocksdb::Options& options, const std::string& name,
                     std::unique_ptr<rocksdb::DB>* db);

}  // namespace rocksync::db_bench

#endif  // ROCKSYNC_TESTS_BENCH_DB_BENCH_OPEN_H_
