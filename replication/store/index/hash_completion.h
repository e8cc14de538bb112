// Element hashes off the write path. A write stores only the value's XXH3 (the
// entry is "pending"); the flush of the index's memtable, in the background,
// completes it to the element's SHA-256. Entries that no flush has completed
// yet are completed by whoever reads them.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_HASH_COMPLETION_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_HASH_COMPLETION_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "replication/store/index/family_table.h"
#include "rocksdb/compaction_filter.h"
#include "sketch/element/element.h"

namespace rocksync {

struct CompletedFamilies;

// Rewrites entries at flush without changing what they mean, so snapshots may
// not notice. Before Start, and for families it does not know, it
// leaves entries pending. Owns all that a flush looks at: after an error, such
// as a full disk, RocksDB flushes again by itself while the store is closed.
// Thread-safe.
class HashCompletionFactory final : public rocksdb::CompactionFilterFactory {
 public:
  explicit HashCompletionFactory(const ClusterSecret& secret)
      : hasher_(secret) {}

  // Flushes that begin from now on complete entries of these families.
  void Start(const FamilyTable& families, uint64_t home);

  const char* Name() const override { return "rocksync.HashCompletion"; }
  // As OPTIONS files have it. A name would be one that no program can load, and
  // who opens the index without it (ldb, remote compaction) needs none.
  std::string GetId() const override { return "nullptr"; }
  bool ShouldFilterTableFileCreation(
      rocksdb::TableFileCreationReason reason) const override {
    return reason == rocksdb::TableFileCreationReason::kFlush;
  }
  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
      const rocksdb::CompactionFilter::Context& context) override;

 private:
  const ElementHasher hasher_;
  std::mutex mutex_;
  std::shared_ptr<const CompletedFamilies> families_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_HASH_COMPLETION_H_
