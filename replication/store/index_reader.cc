#include "replication/store/index_reader.h"

namespace rocksync {
namespace {

rocksdb::Status Damaged(std::string_view index_key) {
  return rocksdb::Status::Corruption(
      "rocksync: an index entry is damaged or of a newer format",
      rocksdb::Slice(index_key.data(), index_key.size()).ToString(true));
}

}  // namespace

rocksdb::Status IndexReader::Get(const rocksdb::Snapshot* at, uint64_t horizon,
                                 const IndexKey& key,
                                 StoredEntry* entry) const {
  thread_local std::string index_key;
  index_key.clear();
  AppendIndexKey(&index_key, key);
  rocksdb::ReadOptions options;
  options.snapshot = at;
  rocksdb::PinnableSlice value;
  const rocksdb::Status status = db_->Get(options, index_, index_key, &value);
  if (!status.ok()) return status;
  if (!ParseEntry({value.data(), value.size()}, home_, entry)) {
    return Damaged(index_key);
  }
  return IsForgotten(*entry, horizon) ? rocksdb::Status::NotFound() : status;
}

IndexCursor::IndexCursor(const IndexReader& reader, const rocksdb::Snapshot* at,
                         uint64_t horizon, Order order)
    : reader_(reader), families_(reader.families()), horizon_(horizon) {
  rocksdb::ReadOptions options;
  options.snapshot = at;
  options.total_order_seek = order == Order::kTotal;
  options.prefix_same_as_start = order == Order::kWithinPosition;
  // A scan would push everything else out of the block cache.
  options.fill_cache = order == Order::kWithinPosition;
  iterator_.reset(reader.db()->NewIterator(options, reader.index()));
}

void IndexCursor::Seek(uint64_t position) {
  target_.clear();
  AppendPosition(&target_, position);
  iterator_->Seek(target_);
  Load();
}

void IndexCursor::SeekKey(std::string_view index_key) {
  iterator_->Seek(rocksdb::Slice(index_key.data(), index_key.size()));
  Load();
}

void IndexCursor::Next() {
  iterator_->Next();
  Load();
}

void IndexCursor::Load() {
  valid_ = iterator_->Valid();
  if (!valid_) {
    status_ = iterator_->status();
    return;
  }
  const rocksdb::Slice key = iterator_->key();
  const rocksdb::Slice value = iterator_->value();
  if (!ParseIndexKey({key.data(), key.size()}, &key_) ||
      !ParseEntry({value.data(), value.size()}, reader_.home(), &entry_)) {
    valid_ = false;
    status_ = Damaged({key.data(), key.size()});
    return;
  }
  family_ = families_.Find(key_.family_id);
}

}  // namespace rocksync
