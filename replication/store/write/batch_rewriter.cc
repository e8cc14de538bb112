#include "replication/store/write/batch_rewriter.h"

#include <memory>
#include <vector>

#include "replication/store/index/plain_value.h"
#include "replication/store/write/refusals.h"
#include "rocksdb/comparator.h"
#include "rocksdb/merge_operator.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Slice;
using rocksdb::Status;

Status MergeInto(const rocksdb::MergeOperator& merge, const Slice& key,
                 const Slice* existing, const Slice& operand,
                 std::string* merged) {
  const std::vector<Slice> operands = {operand};
  const rocksdb::MergeOperator::MergeOperationInput input(key, existing,
                                                          operands, nullptr);
  Slice existing_operand(nullptr, 0);
  rocksdb::MergeOperator::MergeOperationOutput output(*merged,
                                                      existing_operand);
  if (!merge.FullMergeV2(input, &output)) {
    return Status::Corruption("rocksync: the merge operator failed",
                              merge.Name());
  }
  if (existing_operand.data() != nullptr) {
    merged->assign(existing_operand.data(), existing_operand.size());
  }
  return Status::OK();
}

Status TooManyKeys(uint64_t limit) {
  return Status::InvalidArgument(
      "rocksync: DeleteRange covers more than max_delete_range_keys (" +
          std::to_string(limit) + ") keys",
      "use ReplicatedDB::DeleteRangeInChunks, which is not atomic");
}

}  // namespace

Status ForEachKeyInRange(rocksdb::DB* db, ColumnFamilyHandle* handle,
                         const Slice& begin, const Slice& end, uint64_t limit,
                         bool* more,
                         const std::function<void(const Slice&)>& visit) {
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &end;
  options.total_order_seek = true;
  const std::unique_ptr<rocksdb::Iterator> iterator(
      db->NewIterator(options, handle));
  uint64_t count = 0;
  *more = false;
  for (iterator->Seek(begin); iterator->Valid(); iterator->Next()) {
    if (count++ == limit) {
      *more = true;
      break;
    }
    visit(iterator->key());
  }
  return iterator->status();
}

BatchRewriter::BatchRewriter(rocksdb::DB* db, const FamilyTable& families,
                             const ReplicatedDBOptions& options,
                             rocksdb::WriteBatch* out, OnChange on_change,
                             bool skip_unknown)
    : db_(db),
      families_(families),
      options_(options),
      out_(out),
      on_change_(std::move(on_change)),
      skip_unknown_(skip_unknown) {}

Status BatchRewriter::SetPair(const Family& family, const Slice& key,
                              const Slice* value) {
  Status status;
  if (value != nullptr) {
    status = CheckSizes(options_, family.name, key, value->size());
    if (!status.ok()) return status;
    status = out_->Put(family.handle(), key, *value);
    written_[{family.id, key.ToString()}] = value->ToString();
    const std::string_view view = value->ToStringView();
    on_change_(family, key.ToStringView(), &view);
  } else {
    status = out_->Delete(family.handle(), key);
    written_[{family.id, key.ToString()}] = std::nullopt;
    on_change_(family, key.ToStringView(), nullptr);
  }
  return status;
}

Status BatchRewriter::Other(uint32_t id, ColumnFamilyHandle** handle) {
  const Family* family = families_.FindOther(id);
  if (family == nullptr && skip_unknown_) return Status::OK();
  if (family == nullptr) {
    return Status::InvalidArgument(
        "rocksync: a batch names the unknown column family " +
            std::to_string(id),
        "create families through ReplicatedDB, or reopen the database");
  }
  *handle = family->handle();
  return Status::OK();
}

Status BatchRewriter::PutCF(uint32_t id, const Slice& key, const Slice& value) {
  const Family* family = families_.Find(id);
  if (family != nullptr) return SetPair(*family, key, &value);
  ColumnFamilyHandle* handle = nullptr;
  const Status status = Other(id, &handle);
  return handle != nullptr ? out_->Put(handle, key, value) : status;
}

Status BatchRewriter::DeleteCF(uint32_t id, const Slice& key) {
  const Family* family = families_.Find(id);
  if (family != nullptr) return SetPair(*family, key, nullptr);
  ColumnFamilyHandle* handle = nullptr;
  const Status status = Other(id, &handle);
  return handle != nullptr ? out_->Delete(handle, key) : status;
}

Status BatchRewriter::SingleDeleteCF(uint32_t id, const Slice& key) {
  const Family* family = families_.Find(id);
  if (family != nullptr) return SetPair(*family, key, nullptr);
  ColumnFamilyHandle* handle = nullptr;
  const Status status = Other(id, &handle);
  return handle != nullptr ? out_->SingleDelete(handle, key) : status;
}

Status BatchRewriter::MergeCF(uint32_t id, const Slice& key,
                              const Slice& value) {
  const Family* family = families_.Find(id);
  if (family == nullptr) {
    ColumnFamilyHandle* handle = nullptr;
    const Status status = Other(id, &handle);
    return handle != nullptr ? out_->Merge(handle, key, value) : status;
  }
  std::string stored;
  Slice existing;
  bool exists = false;
  const auto written = written_.find({id, key.ToString()});
  if (written != written_.end()) {
    exists = written->second.has_value();
    if (exists) existing = *written->second;
  } else {
    const Status status = GetPlain(db_, rocksdb::ReadOptions(), *family,
                                   key.ToStringView(), &stored);
    if (!status.ok() && !status.IsNotFound()) return status;
    exists = status.ok();
    if (exists) existing = stored;
  }
  std::string merged;
  const Status status = MergeInto(*family->merge_operator, key,
                                  exists ? &existing : nullptr, value, &merged);
  if (!status.ok()) return status;
  const Slice result(merged);
  return SetPair(*family, key, &result);
}

Status BatchRewriter::DeleteRangeCF(uint32_t id, const Slice& begin,
                                    const Slice& end) {
  const Family* family = families_.Find(id);
  if (family == nullptr) {
    ColumnFamilyHandle* handle = nullptr;
    const Status status = Other(id, &handle);
    return handle != nullptr ? out_->DeleteRange(handle, begin, end) : status;
  }
  const rocksdb::Comparator* order = family->handle()->GetComparator();
  if (order->Compare(begin, end) > 0) {
    return Status::InvalidArgument(
        "rocksync: DeleteRange: end key comes before start key");
  }
  std::vector<std::string> keys;
  bool more = false;
  Status status = ForEachKeyInRange(
      db_, family->handle(), begin, end, options_.max_delete_range_keys, &more,
      [&](const Slice& key) { keys.push_back(key.ToString()); });
  if (!status.ok()) return status;
  if (more) return TooManyKeys(options_.max_delete_range_keys);
  // The range also covers keys that only this batch has put.
  for (const auto& [pair, value] : written_) {
    if (pair.first == id && value.has_value() &&
        order->Compare(begin, pair.second) <= 0 &&
        order->Compare(pair.second, end) < 0) {
      keys.push_back(pair.second);
    }
  }
  for (const std::string& key : keys) {
    const auto written = written_.find({id, key});
    if (written != written_.end() && !written->second.has_value()) continue;
    status = SetPair(*family, key, nullptr);
    if (!status.ok()) return status;
  }
  return Status::OK();
}

Status BatchRewriter::OtherPutCF(uint32_t, const char* call) {
  return Status::NotSupported(
      "rocksync: " + std::string(call) +
      " in one batch with SingleDelete, Merge or "
      "DeleteRange of a replicated family; use two batches");
}

void BatchRewriter::LogData(const Slice& blob) {
  out_->PutLogData(blob).PermitUncheckedError();
}

}  // namespace rocksync
