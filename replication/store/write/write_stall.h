// Waiting for RocksDB, which may stall writes without end, and for locks that a
// stalled writer holds.
//
// A write of the application with WriteOptions::no_slowdown waits for neither.
//
// Threads for which others may be waiting, those of sessions and of the scrub,
// must not wait for the end of a stall. They write with
// WriteOptions::no_slowdown, so that RocksDB returns Incomplete instead of
// stalling them, retry for a while, then give up. Their work is tried again
// later.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_WRITE_STALL_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_WRITE_STALL_H_

#include <chrono>
#include <functional>
#include <string>

#include "rocksdb/db.h"

namespace rocksync {

inline constexpr std::chrono::milliseconds kStallPatience{200};

// Returns, for waiting for locks, a function that is true once `patience` is
// over.
std::function<bool()> LockDeadline(
    std::chrono::milliseconds patience = kStallPatience);

// Whether RocksDB stalls writes, slows them down or would stall the next one.
bool WritesStall(rocksdb::DB* db);

// Returns, for the locks of a write of the application, a function that is true
// as soon as a write with no_slowdown would wait for one that is stalled; empty
// without no_slowdown.
std::function<bool()> NoSlowdownDeadline(rocksdb::DB* db,
                                         const rocksdb::WriteOptions& options);
// Returns Incomplete for such a write, in RocksDB's words.
rocksdb::Status NoSlowdownError();

// Returns Busy, for a caller that gave up.
rocksdb::Status Stalled();

// Calls `attempt` again while it returns Incomplete, since it would have to
// wait, and `gives_up`, which may be empty, returns false. Returns the last
// result.
rocksdb::Status WaitOutStall(const std::function<rocksdb::Status()>& attempt,
                             const std::function<bool()>& gives_up);

// Calls `write` in that way for `patience`. Returns Busy if it gave up.
rocksdb::Status WritePatiently(
    const std::function<rocksdb::Status()>& write,
    std::chrono::milliseconds patience = kStallPatience);

// Writes as DB::Write does, but returns Busy if the database's
// WriteBufferManager still stalls writes after `patience`. Such a stall may
// never end: the memtables of dropped families fill the budget until the
// application destroys their handles, and it may be waiting for this write.
// Other stalls end by themselves, and are waited for.
rocksdb::Status WriteUnlessBudgetStalls(
    rocksdb::DB* db, const rocksdb::WriteOptions& options,
    rocksdb::WriteBatch* batch,
    std::chrono::milliseconds patience = kStallPatience);

// Writes patiently to a database with an index. Thread-safe.
class PatientWriter {
 public:
  // Both must outlive it.
  PatientWriter(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index)
      : db_(db), index_(index) {}

  // Writes as DB::Write does. Returns Busy if RocksDB stalls writes; then
  // nothing is written.
  rocksdb::Status Write(rocksdb::WriteOptions options,
                        rocksdb::WriteBatch* batch,
                        std::chrono::milliseconds patience = kStallPatience);
  // Writes one record of the index in that way.
  rocksdb::Status PutRecord(const rocksdb::WriteOptions& options,
                            const std::string& key, const std::string& record);

 private:
  rocksdb::DB* const db_;
  rocksdb::ColumnFamilyHandle* const index_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_WRITE_STALL_H_
