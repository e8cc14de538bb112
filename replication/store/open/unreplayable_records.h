// Finds records of a log that RocksDB does not replay with the options at hand.
//
// A Merge record of a family without its merge operator: RocksDB takes it for
// the end of the log, or passes over it. What it holds, and with it later
// writes to any family, is dropped, and the log removed.
//
// A transaction that a TransactionDB prepared: RocksDB fails there without
// allow_2pc or, built with assertions, ends the process. Or it does not read
// that part of the log at all, if all of it that is committed is in tables, and
// drops the transaction, with its commit if that comes later.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_UNREPLAYABLE_RECORDS_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_UNREPLAYABLE_RECORDS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "replication/store/open/two_phase_marks.h"
#include "rocksdb/db.h"
#include "rocksdb/wal_filter.h"
#include "rocksdb/write_batch.h"

namespace rocksync {

// Looks for such records in a log that is replayed with allow_2pc: only then
// does RocksDB read all of the log that a TransactionDB needs. Leaves RocksDB
// everything to replay except the prepared transactions that are refused.
class UnreplayableRecords final : public rocksdb::WalFilter {
 public:
  enum class Prepared : uint8_t {
    kRefused,
    // For readers, which see what is committed. Transactions of the write
    // policies WRITE_PREPARED and WRITE_UNPREPARED are refused: only a
    // TransactionDB can tell what of them is committed.
    kReplayed,
  };

  // `families` have the options that RocksDB opens them with.
  explicit UnreplayableRecords(
      const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
      Prepared prepared = Prepared::kRefused);

  // Returns InvalidArgument if a batch had such a record. The error names the
  // directory, what was found (of a Merge the family, and the operator if the
  // OPTIONS file does), and the remedy.
  rocksdb::Status Check(rocksdb::Env* env, const std::string& directory) const;

  const char* Name() const override { return "rocksync.UnreplayableRecords"; }
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
    uint64_t first_log = 0;  // what earlier logs have is in tables
  };
  // Returns whether RocksDB reads this file of the log without allow_2pc.
  bool IsRead(uint64_t log) const { return log >= first_log_; }
  void NoteEnds(uint64_t log, const TwoPhaseMarks& marks);

  const Prepared prepared_;
  std::set<std::string> without_operator_;
  std::map<uint32_t, Family> families_;  // without operator, by id
  std::optional<std::string> merged_;    // the family of the first Merge
  uint64_t first_log_ = 0;               // the least of all families
  // Transactions prepared so far that nothing has ended; true for one that was
  // written before its commit.
  std::map<std::string, bool> prepared_before_;
  bool loses_prepared_ = false;  // RocksDB drops one, or fails at it
};

// Returns the error for a log with prepared transactions that would be lost.
rocksdb::Status PreparedTransactionsError(const std::string& directory);

// Checks what RocksDB would replay of the log of the database `name` with these
// options. Writes nothing, but makes the file LOCK if it is not there. Returns
// OK also if the database is in use or cannot be opened: its opening says that.
rocksdb::Status CheckLogReplays(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

// Explains the status of a read, or a compaction, of the family. If a value
// cannot be read without the merge operator, returns InvalidArgument, which
// names the operator; everything else stays as it is.
rocksdb::Status NameMergeOperator(const rocksdb::Status& status,
                                  rocksdb::Env* env,
                                  const std::string& directory,
                                  const std::string& family);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_UNREPLAYABLE_RECORDS_H_
