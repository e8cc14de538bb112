#include "replication/store/write/range_deleter.h"

#include <string>

#include "replication/store/write/batch_rewriter.h"

namespace rocksync {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::WriteOptions;

Status RangeDeleter::DeleteInChunks(const WriteOptions& options,
                                    ColumnFamilyHandle* handle,
                                    const Slice& begin, const Slice& end,
                                    uint64_t* deleted) {
  if (deleted != nullptr) *deleted = 0;
  for (const Slice& bound : {begin, end}) {
    if (bound.size() <= UINT32_MAX) continue;
    return Status::InvalidArgument("rocksync: a bound of " +
                                       std::to_string(bound.size()) +
                                       " bytes, and no key is as long",
                                   "pass bounds of less than 4 GiB");
  }
  // Checked first: an iterator on a dropped family would find nothing to
  // delete.
  Status status = families_->CheckKnown(handle);
  if (!status.ok()) return status;
  std::string from = begin.ToString();
  bool more = true;
  while (more) {
    rocksdb::WriteBatch batch;
    uint64_t count = 0;
    std::string last;
    // It is harmless if another write deletes or puts one of these keys
    // meanwhile: each chunk is a write of its own.
    status =
        ForEachKeyInRange(indexed_->db(), handle, from, end,
                          indexed_->options().max_delete_range_keys, &more,
                          [&](const Slice& key) {
                            batch.Delete(handle, key).PermitUncheckedError();
                            last = key.ToString();
                            ++count;
                          });
    if (!status.ok()) return status;
    if (count == 0) break;
    status = writer_->WriteMany(options, &batch);
    if (!status.ok()) return status;
    if (deleted != nullptr) *deleted += count;
    from = last;
  }
  return Status::OK();
}

}  // namespace rocksync
