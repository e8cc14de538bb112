#include "replication/store/index/key_walk.h"

#include "replication/store/index/plain_value.h"
#include "rocksdb/comparator.h"

namespace rocksync {
namespace {

// Below this number the cost of making an iterator is not worth it.
constexpr size_t kFewKeys = 64;
// A seek costs more than this many steps.
constexpr int kMaxSteps = 32;
// After this many finds the share of seeks tells whether keys lie close
// together.
constexpr size_t kTrial = 64;
// The limits of one iterator.
constexpr size_t kMaxFinds = 4096;
constexpr size_t kMaxBytes = size_t{4} << 20;

}  // namespace

KeyWalk::KeyWalk(rocksdb::DB* db, const rocksdb::Snapshot* at, size_t keys)
    : db_(db), at_(at), pays_(keys >= kFewKeys) {}

bool KeyWalk::Find(const Family& family, std::string_view key,
                   std::string_view* value) {
  if (!pays_) {
    iterator_.reset();
    return false;
  }
  if (iterator_ == nullptr || family.id != family_id_ || finds_ == kMaxFinds ||
      bytes_ > kMaxBytes) {
    Renew(family);
  }
  ++finds_;
  ++all_finds_;
  const rocksdb::Slice target(key.data(), key.size());
  pays_ = MoveTo(*family.handle()->GetComparator(), target) &&
          (all_finds_ < kTrial || 2 * seeks_ < all_finds_);
  const bool found =
      iterator_->Valid() && iterator_->key() == target && IsPlain(*iterator_);
  if (!found) return false;
  *value = {iterator_->value().data(), iterator_->value().size()};
  bytes_ += value->size();
  return true;
}

bool KeyWalk::MoveTo(const rocksdb::Comparator& order,
                     const rocksdb::Slice& key) {
  if (iterator_->Valid() && order.Compare(iterator_->key(), key) <= 0) {
    int steps = 0;
    while (steps < kMaxSteps && iterator_->Valid() &&
           order.Compare(iterator_->key(), key) < 0) {
      iterator_->Next();
      ++steps;
    }
    if (!iterator_->Valid() || order.Compare(iterator_->key(), key) >= 0) {
      return iterator_->status().ok();
    }
  }
  ++seeks_;
  iterator_->Seek(key);
  return iterator_->status().ok();
}

void KeyWalk::Renew(const Family& family) {
  rocksdb::ReadOptions options;
  options.snapshot = at_;
  options.total_order_seek = true;  // whatever prefixes there are
  options.fill_cache = false;       // the cache is the application's
  iterator_.reset(db_->NewIterator(options, family.handle()));
  family_id_ = family.id;
  finds_ = 0;
  bytes_ = 0;
}

}  // namespace rocksync
