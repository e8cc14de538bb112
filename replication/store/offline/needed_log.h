// Finds out what of a log is not in tables yet, where no MANIFEST says it.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_NEEDED_LOG_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_NEEDED_LOG_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "replication/store/open/two_phase_marks.h"
#include "replication/store/open/unreplayable_records.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/wal_filter.h"
#include "rocksdb/write_batch.h"

namespace rocksync {

// The largest sequence number in tables, by the id of the family. Tables have
// all that was written to their family up to then.
using SequencesInTables = std::map<uint32_t, uint64_t>;

// Counts batches, and passes over those that are in tables as a whole: replayed
// above the tables they would hide what came later. A log file that is not
// needed any more may be there, as its removal was interrupted.
class NeededLog final : public rocksdb::WalFilter {
 public:
  // `families` have the options that RocksDB opens them with.
  NeededLog(SequencesInTables in_tables,
            const std::vector<rocksdb::ColumnFamilyDescriptor>& families)
      : in_tables_(std::move(in_tables)), unreplayable_(families) {}

  const char* Name() const override { return "rocksync.NeededLog"; }

  // Batches that RocksDB has read, needed or not.
  uint64_t batches() const { return batches_; }
  // Returns the error for needed batches that cannot be replayed.
  rocksdb::Status Check(rocksdb::Env* env, const std::string& directory) const;

  void ColumnFamilyLogNumberMap(
      const std::map<uint32_t, uint64_t>& log_numbers,
      const std::map<std::string, uint32_t>& ids) override {
    unreplayable_.ColumnFamilyLogNumberMap(log_numbers, ids);
  }
  WalProcessingOption LogRecordFound(unsigned long long log,
                                     const std::string& file,
                                     const rocksdb::WriteBatch& batch,
                                     rocksdb::WriteBatch* changed,
                                     bool* is_changed) override;

 private:
  // A prepared transaction. It is needed, unless all of it is in tables by its
  // commit.
  struct Transaction {
    std::set<uint32_t> families;
    uint64_t operations = 0;
    bool in_tables = false;  // already, as it was written before its commit
  };

  bool AreInTables(const std::set<uint32_t>& families, uint64_t last) const;
  void NoteMarks(const TwoPhaseMarks& marks, const std::set<uint32_t>& families,
                 const rocksdb::WriteBatch& batch);

  const SequencesInTables in_tables_;
  UnreplayableRecords unreplayable_;
  uint64_t batches_ = 0;
  std::map<std::string, Transaction> prepared_;
  bool loses_prepared_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_NEEDED_LOG_H_
