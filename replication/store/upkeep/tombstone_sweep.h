// Takes collected tombstones out of the index: deletes, in small batches, at a
// bounded pace. To readers they are gone before (IsCollected), so nothing
// depends on how far this is, and snapshots that still need one keep it.

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_TOMBSTONE_SWEEP_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_TOMBSTONE_SWEEP_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "replication/store/write/indexed_db.h"
#include "rocksdb/status.h"

namespace rocksync {

// One thread, which reads the whole index once for each stable time, 200 000
// entries a second at most. It starts over after a restart.
class TombstoneSweep {
 public:
  // `swept`: the stable time of the last sweep that was finished.
  TombstoneSweep(IndexedDB* indexed, uint64_t swept)
      : indexed_(indexed), swept_(swept) {}
  ~TombstoneSweep() { Stop(); }

  void Start();
  void Stop();
  // The stable time has changed.
  void Wake();

  // Sweeps now, at full pace, in the caller's thread. REQUIRES: not started.
  rocksdb::Status SweepHere();

  // All collected tombstones are out of the index.
  bool done() const;
  // Entries taken out since the opening.
  uint64_t removed() const { return removed_.load(); }

 private:
  void Run();
  // Rests for `pause_ms` now and then. Incomplete: stopped in such a rest.
  rocksdb::Status Sweep(uint64_t pause_ms);
  // From `*next`, the beginning if it is empty; sets both for what is left.
  // Busy: nothing is done.
  rocksdb::Status SweepSome(std::string* next, bool* at_end);
  bool Pause(uint64_t ms);  // false: stopped

  IndexedDB* const indexed_;
  std::thread thread_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::atomic<uint64_t> swept_;
  std::atomic<uint64_t> removed_{0};
};

// What the sweep does with entries that it found to be collected. Somebody may
// have written such a key meanwhile, so each entry is looked at again under its
// lock. Busy: RocksDB would have made us wait, with locks held; nothing is
// done. REQUIRES: keys of entries, no meta records.
rocksdb::Status RemoveCollected(IndexedDB* indexed,
                                const std::vector<std::string>& index_keys,
                                uint64_t* removed);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_TOMBSTONE_SWEEP_H_
