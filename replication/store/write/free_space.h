// Refuses writes while the disk still has room for what was already written.

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

// Returns the directories that DBOptions let a database write to.
std::vector<std::string> DirectoriesOf(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

// Returns NoSpace, with the remedy, if a directory has less than `least` bytes
// free. Returns OK if the Env does not know.
rocksdb::Status CheckRoom(rocksdb::Env* env,
                          const std::vector<std::string>& directories,
                          uint64_t least, const std::string& remedy);

// Refuses writes while there is not `reserve` more space than the memtables
// will take. A disk that is full to the last byte leaves RocksDB no way out:
// memtables cannot be flushed, so the WAL cannot be removed. Checks the disk
// after each 256 KiB written and each second of writing, and at each write once
// there is too little. Thread-safe.
//
// Log files stay until all that is in them is in tables. Old ones may stay for
// the sake of one memtable that fills slowly, such as the index's. So while
// writes are refused, all memtables are flushed.
class FreeSpace {
 public:
  using ForEachHandle = std::function<void(
      const std::function<void(rocksdb::ColumnFamilyHandle*)>& visit)>;

  // `reserve` 0: never refuses. `for_each_handle` visits those of all families.
  FreeSpace(rocksdb::DB* db, ForEachHandle for_each_handle,
            std::vector<std::string> directories, uint64_t reserve)
      : db_(db),
        for_each_handle_(std::move(for_each_handle)),
        directories_(std::move(directories)),
        reserve_(reserve) {}

  // Checks for a write of `bytes` that is to begin. `deletes`: it consists of
  // deletions, which make room in the end, and may take half of the reserve.
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

  // Checks the disk, and returns the result.
  DiskSpaceStats Now(uint64_t wall_ms);

 private:
  static constexpr uint64_t kLookEveryBytes = uint64_t{256} << 10;
  static constexpr uint64_t kFlushEveryMs = 10'000;

  rocksdb::Status Look(uint64_t wall_ms, uint64_t bytes, bool deletes);
  // Notes the result of a check; `memtables`: bytes in memtables.
  void Note(uint64_t memtables, uint64_t bytes, const rocksdb::Status& status);
  void LetLogsGo(uint64_t wall_ms);

  rocksdb::DB* const db_;
  const ForEachHandle for_each_handle_;
  const std::vector<std::string> directories_;
  const uint64_t reserve_;
  std::atomic<uint64_t> unseen_bytes_{0};
  std::atomic<uint64_t> look_at_ms_{0};
  std::atomic<uint64_t> flush_at_ms_{0};  // the earliest time
  std::mutex mutex_;
  // Each time one of the two states begins, RocksDB's info log gets a line.
  bool refuses_ = false;
  uint64_t refused_bytes_ = 0;  // the smallest write since then
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_FREE_SPACE_H_
