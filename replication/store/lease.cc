#include "replication/store/lease.h"

#include <algorithm>

#include "replication/store/index_key.h"
#include "replication/store/meta_records.h"
#include "rocksdb/env.h"

namespace rocksync {

rocksdb::Status Lease::Renew(uint64_t time, bool may_wait) {
  std::unique_lock renewal(renewal_, std::try_to_lock);
  if (!renewal.owns_lock()) {
    // Somebody is at it. Who is still covered need not wait.
    if (time < until_.load(std::memory_order_acquire)) {
      return rocksdb::Status::OK();
    }
    if (!may_wait) return rocksdb::Status::Incomplete("lease renewal");
    renewal.lock();
  }
  if (time < renew_at_.load(std::memory_order_acquire)) {
    return rocksdb::Status::OK();
  }
  const uint64_t wall = db_->GetEnv()->NowMicros() / 1000 << 16;
  const uint64_t until = std::max(
      {until_.load(std::memory_order_acquire), time + kLeadTerm, wall + kTerm});
  rocksdb::WriteOptions options;
  options.no_slowdown = !may_wait;
  rocksdb::Status status =
      db_->Put(options, index_, MetaKey(kLeaseRecord), EncodeLease(until));
  // Not a synced write: that would keep all other writers out while the disk
  // takes in everything since the last sync.
  if (status.ok()) status = db_->FlushWAL(/*sync=*/true);
  if (status.IsNotSupported()) {  // WAL files that are written through mmap
    options.sync = true;
    status =
        db_->Put(options, index_, MetaKey(kLeaseRecord), EncodeLease(until));
  }
  if (status.ok()) {
    until_.store(until, std::memory_order_release);
    renew_at_.store(until - std::min(kRenewAhead, (until - time) / 2),
                    std::memory_order_release);
  }
  return status;
}

}  // namespace rocksync
