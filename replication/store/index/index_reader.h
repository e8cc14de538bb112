// Reads the index: entries in order, with their element hashes.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_INDEX_READER_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_INDEX_READER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/index/family_table.h"
#include "replication/store/index/shown_families.h"
#include "rocksdb/db.h"
#include "sketch/element/element.h"

namespace rocksync {

// What every reader of the index needs: handles, hasher, families and stable
// time. Thread-safe.
class IndexReader {
 public:
  IndexReader(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index,
              const ElementHasher* hasher, uint64_t home)
      : db_(db), index_(index), hasher_(hasher), home_(home) {}

  rocksdb::DB* db() const { return db_; }
  rocksdb::ColumnFamilyHandle* index() const { return index_; }
  const ElementHasher& hasher() const { return *hasher_; }
  uint64_t home() const { return home_; }
  // Returns the families of now.
  FamiliesInUse families() const { return shown_.Use(); }
  ShownFamilies* shown() { return &shown_; }
  bool IsReplicated(uint32_t family_id) const {
    const FamiliesInUse now = families();
    return now->Find(family_id) != nullptr;
  }

  // Tombstones with versions up to this time are collected (IsCollected).
  uint64_t stable_time() const {
    return stable_time_.load(std::memory_order_acquire);
  }
  void SetStableTime(uint64_t stable_time) {
    stable_time_.store(stable_time, std::memory_order_release);
  }

  // Reads the entry of a key. `at` null: as of now. Returns NotFound if there
  // is none, or it is collected. If the entry does not parse, returns OK with
  // an entry that is quarantined and damaged. Any other status means that
  // reading failed, and tells nothing about the key.
  rocksdb::Status Get(const rocksdb::Snapshot* at, uint64_t stable_time,
                      const IndexKey& key, StoredEntry* entry) const;
  // Reads the entry as of now, at the present stable time.
  rocksdb::Status Get(const IndexKey& key, StoredEntry* entry) const {
    return Get(nullptr, stable_time(), key, entry);
  }
  // Reads the entries of many keys as of now. The keys are in the order of the
  // index (InIndexOrder). nullopt: NotFound. An error tells nothing about any
  // key.
  rocksdb::Status GetAll(
      std::span<const IndexKey> keys,
      std::vector<std::optional<StoredEntry>>* entries) const;

 private:
  rocksdb::DB* const db_;
  rocksdb::ColumnFamilyHandle* const index_;
  const ElementHasher* const hasher_;
  const uint64_t home_;
  ShownFamilies shown_;
  std::atomic<uint64_t> stable_time_{0};
};

// Returns an error of reading the index; for a damaged block, with the remedy.
rocksdb::Status IndexError(const rocksdb::Status& status);

// Walks over the entries of a snapshot. It also stops at entries that do not
// parse; they do not count. Not thread-safe.
class IndexCursor {
 public:
  enum class Order : uint8_t {
    kTotal,           // all entries
    kWithinPosition,  // Seek skips files by their filters; other positions than
                      // the one sought may be missing
  };
  // `at` null: as of this moment, and after SeekBehind as of that one.
  IndexCursor(const IndexReader& reader, const rocksdb::Snapshot* at,
              uint64_t stable_time, Order order);
  // Uses the families of another moment than now; they must outlive the cursor.
  IndexCursor(const IndexReader& reader, const FamilyTable& families,
              const rocksdb::Snapshot* at, uint64_t stable_time, Order order);

  void SeekToFirstEntry() { Seek(1); }
  // Moves to the first entry at `position` or later.
  void Seek(uint64_t position);
  // Moves to the first entry whose index key is >= `index_key`.
  void SeekKey(std::string_view index_key);
  // Moves to where an earlier cursor ended, as SeekKey does; empty: to the
  // first entry.
  void SeekKeyOrFirst(std::string_view index_key) {
    index_key.empty() ? SeekToFirstEntry() : SeekKey(index_key);
  }
  void Next();
  // Moves, after an error, to the first entry behind `index_key` that is found
  // to read (seek_behind.h). Returns false, and changes nothing, if there is
  // none.
  // REQUIRES: Order::kTotal.
  bool SeekBehind(std::string_view index_key);

  // Returns false at the end, and after an error.
  bool Valid() const { return valid_; }
  bool At(uint64_t position) const {
    return valid_ && key_.position == position;
  }
  const rocksdb::Status& status() const { return status_; }
  // Whether families were created or dropped since the cursor began. It still
  // reads by the families of then, and keeps the data of those that were
  // dropped.
  bool outdated() const;

  // REQUIRES: Valid(). Views are valid until the cursor moves.
  const IndexKey& key() const { return key_; }
  std::string_view index_key() const {
    return {iterator_->key().data(), iterator_->key().size()};
  }
  const StoredEntry& entry() const { return entry_; }
  std::string_view bytes() const {
    return {iterator_->value().data(), iterator_->value().size()};
  }
  // The index key does not parse: key() has at most the position.
  bool key_damaged() const { return key_damaged_; }
  // Returns null if the entry's family is unknown, or not replicated (any
  // more).
  const Family* family() const { return family_; }
  // Whether the entry is of a replicated family and not collected.
  bool IsHeld() const {
    return family_ != nullptr && !IsCollected(entry_, stable_time_);
  }
  // Whether the entry is an element: held, and not quarantined.
  bool Counts() const { return IsHeld() && !entry_.quarantined; }
  // REQUIRES: Counts().
  ElementHash Hash() const {
    return CompleteHash(reader_.hasher(), family_->name, key_.key, entry_);
  }

 private:
  void Start(const rocksdb::Snapshot* at, Order order);
  std::unique_ptr<rocksdb::Iterator> NewIterator();
  void Load();

  const IndexReader& reader_;
  const FamilyTable* const given_families_;  // null: the families of now
  FamiliesInUse families_of_now_;
  const uint64_t stable_time_;
  rocksdb::ReadOptions options_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
  std::string target_;
  IndexKey key_;
  StoredEntry entry_;
  const Family* family_ = nullptr;
  bool key_damaged_ = false;
  bool valid_ = false;
  rocksdb::Status status_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_INDEX_READER_H_
