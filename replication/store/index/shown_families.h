// The table of families that readers are shown, and the earlier tables that
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

// A reference that keeps a table of families alive. To take it and to release
// it costs an atomic addition each and destroys nothing, so both may be done
// with locks held. Use it for as long as a call or a scan takes. A longer
// reader copies what it needs of the table; otherwise RocksDB would keep the
// data of all families that are dropped meanwhile. Must not outlive the
// ShownFamilies. Not thread-safe.
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

  // Deleted for temporaries: a Family found in the table could be gone at once.
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
  Users* users_ = nullptr;  // the counter that counts this one
};

// Shows a table, and frees earlier ones. Thread-safe.
class ShownFamilies {
 public:
  ShownFamilies() = default;
  ShownFamilies(const ShownFamilies&) = delete;
  ShownFamilies& operator=(const ShownFamilies&) = delete;

  // Returns the table that is shown. Never waits. REQUIRES: Show was called.
  FamiliesInUse Use() const;

  // Shows another table. Earlier ones stay until FreeUnused.
  void Show(std::unique_ptr<const FamilyTable> next);
  // Frees the tables that nobody uses any more.
  void FreeUnused();
  // Frees all tables but the one shown. REQUIRES: nobody uses them.
  void FreeAll();

 private:
  // Users are counted in several places, so that threads seldom contend.
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
  // No entry is ever freed, since a reader may be about to count itself there.
  // There are as many as there were tables in use at one time.
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_SHOWN_FAMILIES_H_
