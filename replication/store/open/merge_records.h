// Merge records of families whose merge operator is not at hand. RocksDB, where
// it replays a log, takes such a record for the place where the log ends, or
// passes over it: what it holds, and with it later writes to any family, is
// dropped, and the log removed.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_MERGE_RECORDS_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_MERGE_RECORDS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/wal_filter.h"
#include "rocksdb/write_batch.h"

namespace rocksync {

// Looks for them in a log that is replayed. Of the log it leaves RocksDB all to
// replay.
class MergeRecords final : public rocksdb::WalFilter {
 public:
  // `families`: with the options that RocksDB opens them with.
  explicit MergeRecords(
      const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

  // Each family lacks none.
  bool IsNeedless() const { return without_operator_.empty(); }
  // InvalidArgument: a batch had one, of a family without an operator; the
  // error names the directory, the family, the operator if the OPTIONS file
  // does, and the remedy.
  rocksdb::Status Check(rocksdb::Env* env, const std::string& directory) const;

  const char* Name() const override { return "rocksync.MergeRecords"; }
  void ColumnFamilyLogNumberMap(
      const std::map<uint32_t, uint64_t>& log_numbers,
      const std::map<std::string, uint32_t>& ids) override;
  WalProcessingOption LogRecordFound(unsigned long long log,
                                     const std::string& file,
                                     const rocksdb::WriteBatch& batch,
                                     rocksdb::WriteBatch* changed,
                                     bool* is_changed) override;

 private:
  struct Family {
    std::string name;
    uint64_t first_log = 0;  // what is in earlier ones is in tables
  };

  std::set<std::string> without_operator_;
  std::map<uint32_t, Family> families_;  // of these, by id
  bool found_ = false;
  std::string family_;  // of the first record
};

// Reads what RocksDB would replay of the log of the database `name`, with these
// options, and writes nothing, but makes the file LOCK if it is not there. OK
// also if the database is in use or cannot be opened: its opening says that.
rocksdb::Status CheckMergeRecords(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

// `status` of a read, or a compaction, of the family. What RocksDB says of a
// value that it cannot read without the merge operator becomes the error above;
// everything else stays as it is.
rocksdb::Status NameMergeOperator(const rocksdb::Status& status,
                                  rocksdb::Env* env,
                                  const std::string& directory,
                                  const std::string& family);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_MERGE_RECORDS_H_
