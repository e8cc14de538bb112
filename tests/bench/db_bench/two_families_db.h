// What any index beside the data costs a write, if RocksDB itself keeps it:
// plain RocksDB that puts an entry of the size of the index's into a second
// family, in the same batch as the pair.

#ifndef ROCKSYNC_TESTS_BENCH_DB_BENCH_TWO_FAMILIES_DB_H_
#define ROCKSYNC_TESTS_BENCH_DB_BENCH_TWO_FAMILIES_DB_H_

#include <memory>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/utilities/stackable_db.h"

namespace rocksync::db_bench {

// An entry is the key's hash and the key, and 25 bytes that hash nothing and
// count no version: less work than the index has. No locks either.
class TwoFamiliesDB final : public rocksdb::StackableDB {
 public:
  static rocksdb::Status Open(const rocksdb::Options& options,
                              const std::string& name, rocksdb::DB** db);
  ~TwoFamiliesDB() override;

  using StackableDB::Put;
  rocksdb::Status Put(const rocksdb::WriteOptions& options,
                      rocksdb::ColumnFamilyHandle* family,
                      const rocksdb::Slice& key,
                      const rocksdb::Slice& value) override;
  using StackableDB::Delete;
  rocksdb::Status Delete(const rocksdb::WriteOptions& options,
                         rocksdb::ColumnFamilyHandle* family,
                         const rocksdb::Slice& key) override;
  rocksdb::Status Write(const rocksdb::WriteOptions& options,
                        rocksdb::WriteBatch* updates) override;

 private:
  TwoFamiliesDB(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* entries);

  rocksdb::ColumnFamilyHandle* const entries_;
};

}  // namespace rocksync::db_bench

#endif  // ROCKSYNC_TESTS_BENCH_DB_BENCH_TWO_FAMILIES_DB_H_
