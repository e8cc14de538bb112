// Removes collected tombstones from the index: deletes them in small batches,
// at a bounded pace. Readers do not see them any more (IsCollected), so nothing
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

// Runs the sweep in one thread, which reads the whole index once for each
// stable time, 200 000 entries a second at most. It starts over after a
// restart.
class TombstoneSweep {
 public:
  // `swept` is the stable time of the last sweep that was finished.
  TombstoneSweep(IndexedDB* indexed, uint64_t swept)
      : indexed_(indexed), swept_(swept) {}
  ~TombstoneSweep() { Stop(); }

  void Start();
  void Stop();
  // Tells the thread that the stable time has changed.
  void Wake();

  // Sweeps now, at full pace, in the caller's thread. REQUIRES: not started.
  rocksdb::Status SweepHere();

  // Returns whether all collected tombstones are out of the index.
  bool done() const;
  // Returns how many entries were removed since the opening.
  uint64_t removed() const { return removed_.load(); }

 private:
  void Run();
  // Sweeps the index, resting for `pause_ms` now and then. Incomplete: stopped
  // in such a rest.
  rocksdb::Status Sweep(uint64_t pause_ms);
  // Sweeps some entries from `*next` on, or from the beginning if that is
  // empty; sets both arguments for what is left. Busy: nothing is done.
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

// Removes entries that the sweep found to be collected. Somebody may have
// written such a key meanwhile, so each entry is looked at again under its
// lock. Returns Busy if RocksDB would have made us wait, with locks held;
// nothing is done then. REQUIRES: `index_keys` are keys of entries, no meta
// records.
rocksdb::Status RemoveCollected(IndexedDB* indexed,
                                const std::vector<std::string>& index_keys,
                                uint64_t* removed);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_TOMBSTONE_SWEEP_H_
