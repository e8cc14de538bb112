// A disk that fills up, or breaks, when it is told to: a layer over the real
// file system below a database.

#ifndef ROCKSYNC_TESTS_INTEGRATION_REPLICATION_FAILING_DISK_H_
#define ROCKSYNC_TESTS_INTEGRATION_REPLICATION_FAILING_DISK_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "rocksdb/env.h"

namespace rocksync {

// What appending to any file, old or new, answers; of a disk without a log, to
// the WAL alone; of one that fills up with the log, full from the next append
// to the WAL on; of one with little room, to all but small appends; of an
// unreadable disk, and of one whose reads end short,
// reading at random. Without a sync of the log, syncing the WAL fails.
enum class DiskState {
  kGood,
  kFull,
  kBroken,
  kUnreadable,
  kShortReads,
  kNoLog,
  kNoLogSync,
  kFillsUpWithTheLog,
  kLittleRoom
};

struct FailingDisk {
  std::shared_ptr<std::atomic<DiskState>> state;
  // Reads at random that were answered, well or not.
  std::shared_ptr<const std::atomic<uint64_t>> reads;
  std::unique_ptr<rocksdb::Env> env;  // must outlive the database
};
FailingDisk MakeFailingDisk();

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_REPLICATION_FAILING_DISK_H_
