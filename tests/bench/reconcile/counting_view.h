// A view of a database that counts what sessions read of its index.

#ifndef ROCKSYNC_TESTS_BENCH_RECONCILE_COUNTING_VIEW_H_
#define ROCKSYNC_TESTS_BENCH_RECONCILE_COUNTING_VIEW_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "replication/session/storage_view.h"
#include "rocksync/replicated_db.h"
#include "tests/support/forwarding_view.h"

namespace rocksync::bench {

class CountingView final : public ForwardingView {
 public:
  // `db` must outlive it.
  explicit CountingView(ReplicatedDB* db);

  absl::StatusOr<std::unique_ptr<StorageSnapshot>> TakeSnapshot(
      const std::function<bool()>& cancelled) override;

  // Entries, lookups included, and of them those that readied digests.
  uint64_t read() const { return read_ + digest_reads_; }
  uint64_t digest_reads() const { return digest_reads_; }
  double snapshot_ms() const { return snapshot_ms_; }

 private:
  CountingView(ReplicatedDB* db, std::unique_ptr<StorageView> view)
      : ForwardingView(view.get()), db_(db), view_(std::move(view)) {}

  uint64_t DigestReads() const;

  ReplicatedDB* const db_;
  const std::unique_ptr<StorageView> view_;
  uint64_t read_ = 0;
  uint64_t digest_reads_ = 0;
  double snapshot_ms_ = 0;
};

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_RECONCILE_COUNTING_VIEW_H_
