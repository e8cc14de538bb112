// Computes element hashes off the write path. A write stores only the value's
// XXH3 (the entry is "pending"). The flush of the index's memtable, in the
// background, completes it to the element's SHA-256. Readers complete entries
// that no flush has completed yet.

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

// Rewrites entries at flush. The meaning of an entry does not change, so
// readers of snapshots cannot notice. Before Start, and for unknown families,
// entries stay pending. The factory owns all that a flush uses: after an error,
// such as a full disk, RocksDB flushes again by itself while the store is
// closed. Thread-safe.
class HashCompletionFactory final : public rocksdb::CompactionFilterFactory {
 public:
  explicit HashCompletionFactory(const ClusterSecret& secret)
      : hasher_(secret) {}

  // Makes flushes that begin from now on complete entries of these families.
  void Start(const FamilyTable& families, uint64_t home);

  const char* Name() const override { return "rocksync.HashCompletion"; }
  // Returns what OPTIONS files show. No program could load a real name, and a
  // program that opens the index without it (ldb, remote compaction) needs
  // none.
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
