// Rewrites a WriteBatch whose operations cannot be written as they are:
// SingleDelete becomes Delete, Merge becomes a Put of the merged value, and
// DeleteRange becomes one Delete for each existing key.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_BATCH_REWRITER_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_BATCH_REWRITER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "replication/base/rocksdb_version.h"
#include "replication/store/index/family_table.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"
#include "rocksync/options.h"

namespace rocksync {

// A handler to pass to WriteBatch::Iterate with the locks of all keys held (all
// stripes for a DeleteRange). Each operation sees those before it in the batch.
class BatchRewriter final : public BatchHandler {
 public:
  // Called for every operation on a replicated pair; `value` null: deleted.
  using OnChange = std::function<void(const Family&, std::string_view key,
                                      const std::string_view* value)>;

  // `options` must outlive it. `skip_unknown`: leaves out operations on unknown
  // families, as WriteOptions::ignore_missing_column_families says.
  BatchRewriter(rocksdb::DB* db, const FamilyTable& families,
                const ReplicatedDBOptions& options, rocksdb::WriteBatch* out,
                OnChange on_change, bool skip_unknown = false);

  rocksdb::Status PutCF(uint32_t id, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override;
  rocksdb::Status DeleteCF(uint32_t id, const rocksdb::Slice& key) override;
  rocksdb::Status SingleDeleteCF(uint32_t id,
                                 const rocksdb::Slice& key) override;
  rocksdb::Status MergeCF(uint32_t id, const rocksdb::Slice& key,
                          const rocksdb::Slice& value) override;
  rocksdb::Status DeleteRangeCF(uint32_t id, const rocksdb::Slice& begin,
                                const rocksdb::Slice& end) override;
  rocksdb::Status OtherPutCF(uint32_t id, const char* call) override;
  void LogData(const rocksdb::Slice& blob) override;
  rocksdb::Status MarkNoop(bool) override { return rocksdb::Status::OK(); }

 private:
  using PairKey = std::pair<uint32_t, std::string>;

  rocksdb::Status SetPair(const Family& family, const rocksdb::Slice& key,
                          const rocksdb::Slice* value);
  // Finds the handle of a family that is not replicated; null: skip the
  // operation.
  rocksdb::Status Other(uint32_t id, rocksdb::ColumnFamilyHandle** handle);

  rocksdb::DB* const db_;
  const FamilyTable& families_;
  const ReplicatedDBOptions& options_;
  rocksdb::WriteBatch* const out_;
  const OnChange on_change_;
  const bool skip_unknown_;
  // The pairs that the batch has written so far; nullopt: deleted.
  std::map<PairKey, std::optional<std::string>> written_;
};

// Visits, in order, the keys in [begin, end) that the database holds, at most
// `limit` of them. `*more`: whether there are more.
rocksdb::Status ForEachKeyInRange(
    rocksdb::DB* db, rocksdb::ColumnFamilyHandle* handle,
    const rocksdb::Slice& begin, const rocksdb::Slice& end, uint64_t limit,
    bool* more, const std::function<void(const rocksdb::Slice&)>& visit);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_BATCH_REWRITER_H_
