// Element hashes off the write path. A write stores only the value's XXH3 (the
// entry is "pending"); the flush of the index's memtable, in the background,
// completes it to the element's SHA-256. Entries that no flush has completed
// yet are completed by whoever reads them.

#ifndef ROCKSYNC_REPLICATION_STORE_HASH_COMPLETION_H_
#define ROCKSYNC_REPLICATION_STORE_HASH_COMPLETION_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "replication/store/family_table.h"
#include "rocksdb/compaction_filter.h"
#include "sketch/element.h"

namespace rocksync {

// Rewrites entries at flush without changing what they mean, so snapshots may
// not notice. Before Start, and for families it does not know, it
// leaves entries pending.
class HashCompletionFactory final : public rocksdb::CompactionFilterFactory {
 public:
  // `hasher` must outlive the factory's last flush.
  explicit HashCompletionFactory(const ElementHasher* hasher)
      : hasher_(hasher) {}

  // `families` must stay valid until it is replaced and all flushes are done.
  void Start(const FamilyTable* families, uint64_t home) {
    home_.store(home, std::memory_order_relaxed);
    families_.store(families, std::memory_order_release);
  }

  const char* Name() const override { return "rocksync.HashCompletion"; }
  bool ShouldFilterTableFileCreation(
      rocksdb::TableFileCreationReason reason) const override {
    return reason == rocksdb::TableFileCreationReason::kFlush;
  }
  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
      const rocksdb::CompactionFilter::Context& context) override;

 private:
  const ElementHasher* const hasher_;
  std::atomic<const FamilyTable*> families_{nullptr};
  std::atomic<uint64_t> home_{0};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_HASH_COMPLETION_H_
