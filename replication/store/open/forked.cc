#include "replication/store/open/forked.h"

#include <sys/types.h>
#include <unistd.h>

#include <atomic>

namespace rocksync {
namespace {

// That opened the first database; 0: none yet.
std::atomic<pid_t> first_process{0};

}  // namespace

rocksdb::Status CheckNotForked() {
  const pid_t here = ::getpid();
  pid_t first = 0;
  if (first_process.compare_exchange_strong(first, here) || first == here) {
    return rocksdb::Status::OK();
  }
  return rocksdb::Status::NotSupported(
      "rocksync: this process was forked from one that had opened a database, "
      "and RocksDB's threads are not in it",
      "fork before the first opening, or let the child call exec (in Python: "
      "the start method \"spawn\" of multiprocessing)");
}

}  // namespace rocksync
