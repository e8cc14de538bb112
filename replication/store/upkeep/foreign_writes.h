// Notices foreign writes (writes, files and deletions of files that bypass
// rocksync) before anything is proven or reverted.

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_FOREIGN_WRITES_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_FOREIGN_WRITES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "replication/store/format/meta_records.h"
#include "replication/store/index/leaf_digests.h"
#include "replication/store/upkeep/file_watch.h"
#include "replication/store/write/counted_db.h"
#include "rocksdb/db.h"

namespace rocksync {

// Looks for foreign writes. When Look says kNone, every change of the
// replicated families that was acknowledged to its caller before the call is in
// the index.
//
// Between two looks that find nothing it holds a snapshot of RocksDB, which
// keeps compactions from removing what tells of a later change: sequence
// numbers and records of deletions.
//
// Thread-safe.
class ForeignWrites {
 public:
  enum class Finding : uint8_t { kNone, kSome, kUnsure };

  // `db` must outlive this.
  ForeignWrites(CountedDB* db, std::shared_ptr<FileWatch> files);

  // Looks, and changes nothing. kUnsure: `cancelled` said so first, or a call
  // is under way that may explain what was found; ask again.
  Finding Look(const std::function<bool()>& cancelled);

  // Has everything compared anew: a foreign write changed what has a sequence
  // number after `known`, or lies in one of `ranges`. Durable when it returns
  // OK.
  using Recheck = std::function<rocksdb::Status(
      uint64_t known, const std::vector<ForeignRange>& ranges)>;

  // Looks, and calls `recheck` if there is a foreign write. `all_compared`:
  // nothing is left to be compared, so what is found to be ours now stays ours.
  // With `may_wait` false it waits for no other thread. Returns Incomplete if
  // it is not known yet.
  rocksdb::Status Detect(bool may_wait, bool all_compared,
                         const std::function<bool()>& cancelled,
                         const Recheck& recheck);

  // Returns how many sequence numbers, or ranges of keys, of foreign writes
  // were found.
  uint64_t noticed() const { return noticed_.load(); }

  FileWatch* files() const { return files_.get(); }
  // Releases the snapshot.
  void Close();

 private:
  // Looks for foreign writes. kSome: `*numbers` and `*ranges` say what. With
  // ranges, `*numbers` may be 0 although foreign writes took some.
  Finding Find(const std::function<bool()>& cancelled, uint64_t* numbers,
               std::vector<ForeignRange>* ranges);

  CountedDB* const db_;
  const std::shared_ptr<FileWatch> files_;
  std::mutex mutex_;                           // one Detect at a time
  std::unique_ptr<const HeldSnapshot> known_;  // all up to here is ours
  std::atomic<uint64_t> noticed_{0};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_FOREIGN_WRITES_H_
