#include "replication/base/forked.h"

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace rocksync {
namespace {

// The process that opened the first database; 0: none yet.
std::atomic<pid_t> first_process{0};
std::atomic<bool> in_forked_child{false};

void NoteFork() { in_forked_child.store(true, std::memory_order_relaxed); }

}  // namespace

rocksdb::Status CheckNotForked() {
  const pid_t here = ::getpid();
  pid_t first = 0;
  if (first_process.compare_exchange_strong(first, here)) {
    // Fails only if memory is short; then only openings are refused in a child.
    ::pthread_atfork(nullptr, nullptr, &NoteFork);
    return rocksdb::Status::OK();
  }
  if (first == here) return rocksdb::Status::OK();
  return rocksdb::Status::NotSupported(
      "rocksync: this process was forked from one that had opened a database, "
      "and RocksDB's threads are not in it",
      "fork before the first opening, or let the child call exec (in Python: "
      "the start method \"spawn\" of multiprocessing)");
}

bool InForkedChild() { return in_forked_child.load(std::memory_order_relaxed); }

rocksdb::Status CheckMayWriteHere() {
  if (!InForkedChild()) return rocksdb::Status::OK();
  return rocksdb::Status::NotSupported(
      "rocksync: this process was forked from the one that opened the "
      "database, and shares its files",
      "write from that one; a child may exec, or leave by _exit");
}

void EndForkedChild(const char* callback) {
  std::fprintf(stderr,
               "rocksync: a child of fork has returned from %s, and the "
               "threads that called it are its parent's: let it exec there, or "
               "leave by _exit\n",
               callback);
  std::abort();
}

}  // namespace rocksync
