// The table of families that is shown to readers, and the earlier ones that
// some of them still use.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_SHOWN_FAMILIES_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_SHOWN_FAMILIES_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "replication/store/index/family_table.h"

namespace rocksync {

// A table in use: the table stays as long as this. To take one and to let go of
// it costs an atomic addition each, and destroys nothing, so both may be done
// with locks held. For as long as a call or a scan takes; who reads for longer
// copies what it needs of the table, or it would keep what RocksDB has of all
// families that are dropped meanwhile. Must not outlive the ShownFamilies. Not
// thread-safe.
class FamiliesInUse {
 public:
  FamiliesInUse() = default;  // of no table
  FamiliesInUse(const FamiliesInUse&) = delete;
  FamiliesInUse(FamiliesInUse&& other) noexcept
      : table_(std::exchange(other.table_, nullptr)),
        users_(std::exchange(other.users_, nullptr)) {}
  FamiliesInUse& operator=(FamiliesInUse other) noexcept {
    std::swap(table_, other.table_);
    std::swap(users_, other.users_);
    return *this;
  }
  ~FamiliesInUse();

  // Not of a temporary: a Family found in its table could be gone at once.
  const FamilyTable& operator*() const& { return *table_; }
  const FamilyTable* operator->() const& { return table_; }
  const FamilyTable& operator*() const&& = delete;
  const FamilyTable* operator->() const&& = delete;

 private:
  friend class ShownFamilies;
  using Users = std::atomic<uint64_t>;
  FamiliesInUse(const FamilyTable* table, Users* users)
      : table_(table), users_(users) {}

  const FamilyTable* table_ = nullptr;
  Users* users_ = nullptr;  // where this one is counted
};

// Thread-safe.
class ShownFamilies {
 public:
  ShownFamilies() = default;
  ShownFamilies(const ShownFamilies&) = delete;
  ShownFamilies& operator=(const ShownFamilies&) = delete;

  // The table that is shown. Waits for nobody. REQUIRES: Show was called.
  FamiliesInUse Use() const;

  // Those before stay until FreeUnused.
  void Show(std::unique_ptr<const FamilyTable> next);
  // Frees the tables that nobody uses any more.
  void FreeUnused();
  // Frees all but the one shown. REQUIRES: nobody uses them.
  void FreeAll();

 private:
  // Users are counted in several places, so that threads seldom meet.
  static constexpr size_t kPlaces = 8;
  struct Entry {
    struct alignas(64) Place {
      std::atomic<uint64_t> users{0};
    };
    std::array<Place, kPlaces> places;
    std::unique_ptr<const FamilyTable> table;  // null: the entry is free
  };
  static bool IsUsed(const Entry& entry);

  std::atomic<Entry*> shown_{nullptr};
  std::mutex mutex_;
  // None is ever freed, since a reader may just be about to count itself there;
  // there are as many as there were tables in use at one time.
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_SHOWN_FAMILIES_H_
