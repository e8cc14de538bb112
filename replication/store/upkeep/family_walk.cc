#include "replication/store/upkeep/family_walk.h"

#include <cstddef>
#include <utility>

#include "replication/base/rocksdb_version.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/index/plain_value.h"
#include "replication/store/upkeep/unreadable.h"
#include "rocksdb/comparator.h"
#include "rocksdb/utilities/debug.h"

namespace rocksync {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

// An iterator pins what it reads, so it is renewed this often.
constexpr uint64_t kPairsPerIterator = 100000;
constexpr int kMaxTries = 10;

// Lists the first `most` keys behind `from` (with `first`: from the beginning,
// and `from` is none), deleted ones too. Reads no values.
Status KeysBehind(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
                  const std::string& from, bool first, size_t most,
                  std::vector<std::string>* keys) {
  // One key may have many versions, of snapshots or in a memtable.
  for (size_t records = most;; records *= 4) {
    std::vector<rocksdb::KeyVersion> versions;
    const Slice begin(from);
    const Status status = KeyVersionsFrom(db, family, first ? nullptr : &begin,
                                          records, &versions);
    if (!status.ok()) return status;
    keys->clear();
    for (rocksdb::KeyVersion& version : versions) {
      if (!first && version.user_key == from) continue;
      if (!keys->empty() && version.user_key == keys->back()) continue;
      keys->push_back(std::move(version.user_key));
    }
    if (!keys->empty() || versions.size() < records) return status;
  }
}

}  // namespace

Status FamilyWalk::Next(std::vector<Candidate>* pairs, bool* end) {
  pairs->clear();
  *end = false;
  if (iterator_ == nullptr) Seek();
  if (iterator_->Valid()) return ReadFrom(pairs);
  const Status status = iterator_->status();
  iterator_.reset();
  if (!status.ok()) return ReadOneByOne(status, pairs, end);
  *end = true;
  return status;
}

void FamilyWalk::Seek() {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  options.total_order_seek = true;
  iterator_.reset(indexed_->db()->NewIterator(options, family_.handle()));
  read_ = 0;
  if (!resumed_) {
    iterator_->SeekToFirst();
    return;
  }
  // The seek avoids `from_`: that key was judged, but its value may not read.
  const bool bytewise =
      family_.handle()->GetComparator() == rocksdb::BytewiseComparator();
  iterator_->Seek(bytewise ? from_ + '\0' : from_);
  if (iterator_->Valid() && iterator_->key() == Slice(from_)) {
    iterator_->Next();
  }
}

Status FamilyWalk::ReadFrom(std::vector<Candidate>* pairs) {
  const ElementHasher& hasher = indexed_->reader().hasher();
  const bool adopting = (build_state_ & kFamilyAdopting) != 0;
  for (; iterator_->Valid() && pairs->size() < kJudgedAtOnce;
       iterator_->Next()) {
    // The entity may have been replaced since the iterator was made: then the
    // next try, with a new one, goes on.
    if (!IsPlain(*iterator_)) {
      return EntityError(family_, iterator_->key().ToStringView());
    }
    pairs->push_back(
        {iterator_->key().ToString(),
         hasher.Position(family_.name, iterator_->key().ToStringView()),
         adopting ? hasher.HashValue({}, iterator_->value().ToStringView())
                  : ValueHash{}});
  }
  from_ = pairs->back().key;
  resumed_ = true;
  read_ += pairs->size();
  if (read_ >= kPairsPerIterator && iterator_->Valid()) iterator_.reset();
  return Status::OK();
}

Status FamilyWalk::ReadOneByOne(const Status& error,
                                std::vector<Candidate>* pairs, bool* end) {
  std::vector<std::string> keys;
  Status status = KeysBehind(indexed_->db(), family_.handle(), from_, !resumed_,
                             kJudgedAtOnce, &keys);
  if (status.ok() && keys.empty()) {
    // With a comparator of the application's own the iterator began at `from_`
    // itself, whose value does not read.
    *end = resumed_ && error.IsPathNotFound();
    if (*end) return status;
    status = error;
  }
  if (!status.ok()) {
    return KeysError(status, family_, resumed_ ? &from_ : nullptr);
  }
  for (const std::string& key : keys) {
    Candidate candidate{
        key, indexed_->reader().hasher().Position(family_.name, key), {}};
    status = ReadValue(&candidate);
    if (status.IsNotFound()) continue;  // deleted
    if (!status.ok()) return status;
    pairs->push_back(std::move(candidate));
  }
  from_ = std::move(keys.back());
  resumed_ = true;
  return Status::OK();
}

Status FamilyWalk::ReadValue(Candidate* candidate) {
  std::string value;
  const Status status = GetPlain(indexed_->db(), rocksdb::ReadOptions(),
                                 family_, candidate->key, &value);
  if (status.ok()) {
    candidate->unversioned = indexed_->reader().hasher().HashValue({}, value);
    return status;
  }
  if (status.IsNotFound() || status.IsNotSupported()) return status;
  candidate->unreadable = true;
  const bool checking = (build_state_ & kFamilyChecking) != 0;
  if (IsDamage(status) || (!checking && ++*tries_ >= kMaxTries)) {
    return Status::OK();
  }
  return ValueError(status, family_, candidate->key);
}

}  // namespace rocksync
