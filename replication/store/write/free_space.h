// Refuses writes while there is still room on the disk for what was written.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_FREE_SPACE_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_FREE_SPACE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/db.h"
#include "rocksync/stats.h"

namespace rocksync {

// The directories that a database writes to.
std::vector<std::string> DirectoriesOf(const rocksdb::DBOptions& options,
                                       const std::string& name);

// NoSpace, with what to do: a directory has less than `least` bytes free. OK if
// the Env does not know.
rocksdb::Status CheckRoom(rocksdb::Env* env,
                          const std::vector<std::string>& directories,
                          uint64_t least, const std::string& remedy);

// A disk that is full to the last byte leaves RocksDB no way out: memtables
// cannot be flushed, so the WAL cannot go. So writes end while there is
// `reserve` more than the memtables will take. Looks at the disk each 256 KiB
// that is written, or second that writes go on, and at each write once there is
// too little. Thread-safe.
//
// Files of the log stay until all that is in them is in tables, so that old
// ones may be there for the sake of one memtable alone that fills slowly, such
// as the index's: while writes are refused, all are flushed.
class FreeSpace {
 public:
  using ForEachHandle = std::function<void(
      const std::function<void(rocksdb::ColumnFamilyHandle*)>& visit)>;

  // `reserve` 0: never refuses. `for_each_handle`: of all families.
  FreeSpace(rocksdb::DB* db, ForEachHandle for_each_handle,
            std::vector<std::string> directories, uint64_t reserve)
      : db_(db),
        for_each_handle_(std::move(for_each_handle)),
        directories_(std::move(directories)),
        reserve_(reserve) {}

  // Before a write of so many bytes. `deletes`: of nothing but deletions, which
  // make room in the end, and may take half of the reserve.
  rocksdb::Status Check(uint64_t wall_ms, uint64_t bytes, bool deletes) {
    if (reserve_ == 0) return rocksdb::Status::OK();
    const uint64_t before =
        unseen_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes < kLookEveryBytes &&
        wall_ms < look_at_ms_.load(std::memory_order_relaxed)) {
      return rocksdb::Status::OK();
    }
    rocksdb::Status status = Look(wall_ms, bytes, deletes);
    if (!status.ok()) LetLogsGo(wall_ms);
    return status;
  }

  // Looks at the disk.
  DiskSpaceStats Now(uint64_t wall_ms);

 private:
  static constexpr uint64_t kLookEveryBytes = uint64_t{256} << 10;
  static constexpr uint64_t kFlushEveryMs = 10'000;

  rocksdb::Status Look(uint64_t wall_ms, uint64_t bytes, bool deletes);
  // With so much in memtables.
  void Note(uint64_t memtables, uint64_t bytes, const rocksdb::Status& status);
  void LetLogsGo(uint64_t wall_ms);

  rocksdb::DB* const db_;
  const ForEachHandle for_each_handle_;
  const std::vector<std::string> directories_;
  const uint64_t reserve_;
  std::atomic<uint64_t> unseen_bytes_{0};
  std::atomic<uint64_t> look_at_ms_{0};
  std::atomic<uint64_t> flush_at_ms_{0};  // at the earliest
  std::mutex mutex_;
  // Of the two states the log has a line each time one begins.
  bool refuses_ = false;
  uint64_t refused_bytes_ = 0;  // the smallest write since that began
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_FREE_SPACE_H_
