// Foreign writes: writes, files and deletions of files that bypass rocksync,
// noticed before anything is proven or reverted.

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

// Promise: when Look says kNone, every change of the replicated families that
// was acknowledged to its caller before the call is in the index.
//
// Between two looks that find nothing, a snapshot of RocksDB is held: it keeps
// compactions from taking away by which a later change could be told, sequence
// numbers and records of deletions.
//
// Thread-safe.
class ForeignWrites {
 public:
  enum class Finding : uint8_t { kNone, kSome, kUnsure };

  // `db` must outlive this.
  ForeignWrites(CountedDB* db, std::shared_ptr<FileWatch> files);

  // Changes nothing. kUnsure: `cancelled` said so first, or a call is under way
  // that may explain what was found; ask again.
  Finding Look(const std::function<bool()>& cancelled);

  // Has everything compared anew: what has a sequence number after `known`, or
  // lies in one of `ranges`, was changed by somebody else. Durable when it
  // returns OK.
  using Recheck = std::function<rocksdb::Status(
      uint64_t known, const std::vector<ForeignRange>& ranges)>;

  // Looks, and if there is something, calls `recheck`. `quiet`: nothing is left
  // to be compared, so what is found to be ours now is ours for good. With
  // `may_wait` false it waits for no other thread. Incomplete: not known yet.
  rocksdb::Status Deal(bool may_wait, bool quiet,
                       const std::function<bool()>& cancelled,
                       const Recheck& recheck);

  // Sequence numbers, or ranges of keys, of foreign writes.
  uint64_t noticed() const { return noticed_.load(); }

  FileWatch* files() const { return files_.get(); }
  // Lets go of the snapshot.
  void Close();

 private:
  // kSome: `*numbers` and `*ranges` say what. With ranges, `*numbers` may be 0
  // where there were some.
  Finding Find(const std::function<bool()>& cancelled, uint64_t* numbers,
               std::vector<ForeignRange>* ranges);

  CountedDB* const db_;
  const std::shared_ptr<FileWatch> files_;
  std::mutex mutex_;                           // one Deal at a time
  std::unique_ptr<const HeldSnapshot> known_;  // all up to here is ours
  std::atomic<uint64_t> noticed_{0};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_FOREIGN_WRITES_H_
