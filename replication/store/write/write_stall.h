// Waiting for RocksDB, which may stall writes without end, and for locks that a
// writer holds who sits in a stall.
//
// A write of the application with WriteOptions::no_slowdown waits for neither.
//
// Threads for which somebody may be waiting, those of sessions and of the
// scrub, must not wait for the end of a stall. They write with
// WriteOptions::no_slowdown, so that RocksDB answers Incomplete in place of
// stalling them, try again for a while, then give up; their work is tried again
// later.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_WRITE_STALL_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_WRITE_STALL_H_

#include <chrono>
#include <functional>
#include <string>

#include "rocksdb/db.h"

namespace rocksync {

inline constexpr std::chrono::milliseconds kStallPatience{200};

// For locks: true once `patience` is over.
std::function<bool()> LockDeadline(
    std::chrono::milliseconds patience = kStallPatience);

// RocksDB stalls writes, slows them down or would stall the next one.
bool WritesStall(rocksdb::DB* db);

// For the locks of a write of the application: if it has no_slowdown, true as
// soon as it would wait for one that sits in a stall; else empty.
std::function<bool()> NoSlowdownDeadline(rocksdb::DB* db,
                                         const rocksdb::WriteOptions& options);
// Incomplete, for such a write, as RocksDB says it.
rocksdb::Status NoSlowdownError();

// Busy, for who gave up.
rocksdb::Status Stalled();

// Calls `attempt` again while it is Incomplete, which is that it would wait,
// and `gives_up`, if there is one, is false. Returns what the last one did.
rocksdb::Status WaitOutStall(const std::function<rocksdb::Status()>& attempt,
                             const std::function<bool()>& gives_up);

// The same for `patience`. Busy: it gave up.
rocksdb::Status WritePatiently(
    const std::function<rocksdb::Status()>& write,
    std::chrono::milliseconds patience = kStallPatience);

// As DB::Write, but Busy if the database's WriteBufferManager still stalls
// writes after `patience`. Nothing need end such a stall: the memtables of
// families that were dropped fill the budget until the application destroys
// their handles, and it may be waiting for this write. Other stalls end by
// themselves, and are waited for.
rocksdb::Status WriteUnlessBudgetStalls(
    rocksdb::DB* db, const rocksdb::WriteOptions& options,
    rocksdb::WriteBatch* batch,
    std::chrono::milliseconds patience = kStallPatience);

// Writes to a database with an index that way. Thread-safe.
class PatientWriter {
 public:
  // Both must outlive it.
  PatientWriter(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index)
      : db_(db), index_(index) {}

  // As DB::Write. Busy: RocksDB stalls writes, nothing is written.
  rocksdb::Status Write(rocksdb::WriteOptions options,
                        rocksdb::WriteBatch* batch,
                        std::chrono::milliseconds patience = kStallPatience);
  // The same for one record of the index.
  rocksdb::Status PutRecord(const rocksdb::WriteOptions& options,
                            const std::string& key, const std::string& record);

 private:
  rocksdb::DB* const db_;
  rocksdb::ColumnFamilyHandle* const index_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_WRITE_STALL_H_
