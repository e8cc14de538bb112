// The lease: a reading of the clock, written down ahead and synced, that no
// version issued or observed passes. After any crash the clock starts from it,
// so a version is never issued twice, even if the tail of the WAL is lost.

#ifndef ROCKSYNC_REPLICATION_STORE_LEASE_H_
#define ROCKSYNC_REPLICATION_STORE_LEASE_H_

#include <atomic>
#include <cstdint>
#include <mutex>

#include "rocksdb/db.h"

namespace rocksync {

// Thread-safe.
class Lease {
 public:
  // `until`: what is written down now.
  Lease(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index, uint64_t until)
      : db_(db), index_(index), until_(until) {}

  // OK once the lease covers `time`. Nearly always one load; a synced write
  // every few seconds of writing. Incomplete, only unless `may_wait`: RocksDB
  // stalls writes, or somebody else is at the renewal; try again.
  rocksdb::Status Cover(uint64_t time, bool may_wait = true) {
    if (time < renew_at_.load(std::memory_order_acquire)) {
      return rocksdb::Status::OK();
    }
    return Renew(time, may_wait);
  }

  // What is written down now.
  uint64_t until() const { return until_.load(std::memory_order_acquire); }

 private:
  // In clock readings: 10 s of the wall clock taken at a time, renewed when 5 s
  // are left.
  static constexpr uint64_t kTerm = uint64_t{10000} << 16;
  static constexpr uint64_t kRenewAhead = uint64_t{5000} << 16;
  // A clock that leads the wall clock, as after a crash, advances by the count
  // of versions and not by time: this much is a million of them. A full term
  // instead, at each of several crashes in a row, would add up to a clock so
  // far ahead that peers hold its versions back.
  static constexpr uint64_t kLeadTerm = uint64_t{20} << 16;

  rocksdb::Status Renew(uint64_t time, bool may_wait);

  rocksdb::DB* const db_;
  rocksdb::ColumnFamilyHandle* const index_;
  std::atomic<uint64_t> until_;  // never goes back
  std::atomic<uint64_t> renew_at_{0};
  std::mutex renewal_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_LEASE_H_
