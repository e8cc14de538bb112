#include "replication/store/index/shown_families.h"

#include <algorithm>

namespace rocksync {
namespace {

// Returns the place, of so many, in which this thread counts itself.
size_t PlaceOfThread(size_t places) {
  static std::atomic<size_t> threads{0};
  thread_local const size_t number =
      threads.fetch_add(1, std::memory_order_relaxed);
  return number % places;
}

}  // namespace

// Memory order release: reads of the table are over before it is freed.
FamiliesInUse::~FamiliesInUse() {
  if (users_ != nullptr) users_->fetch_sub(1, std::memory_order_release);
}

// A user counts itself and then checks that the table is still shown.
// FreeUnused looks for users of a table that is no longer shown. All is
// sequentially consistent, so one of the two sees the other. A user that came
// too late has touched only the counter. If the entry meanwhile shows another
// table, the user is counted for that one.
FamiliesInUse ShownFamilies::Use() const {
  const size_t place = PlaceOfThread(kPlaces);
  while (true) {
    Entry* const entry = shown_.load();
    std::atomic<uint64_t>* const users = &entry->places[place].users;
    users->fetch_add(1);
    if (shown_.load() == entry) return {entry->table.get(), users};
    users->fetch_sub(1, std::memory_order_release);
  }
}

void ShownFamilies::Show(std::unique_ptr<const FamilyTable> next) {
  const std::lock_guard lock(mutex_);
  const auto free =
      std::find_if(entries_.begin(), entries_.end(),
                   [](const auto& entry) { return entry->table == nullptr; });
  Entry* entry = nullptr;
  if (free != entries_.end()) {
    entry = free->get();
  } else {
    entries_.push_back(std::make_unique<Entry>());
    entry = entries_.back().get();
  }
  entry->table = std::move(next);
  shown_.store(entry);
}

bool ShownFamilies::IsUsed(const Entry& entry) {
  return std::any_of(
      entry.places.begin(), entry.places.end(),
      [](const Entry::Place& place) { return place.users.load() != 0; });
}

void ShownFamilies::FreeUnused() {
  // The tables are destroyed without the lock: RocksDB then deletes files and
  // calls listeners.
  std::vector<std::unique_ptr<const FamilyTable>> unused;
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) {
    if (entry->table == nullptr || entry.get() == shown_.load() ||
        IsUsed(*entry)) {
      continue;
    }
    unused.push_back(std::move(entry->table));
  }
}

void ShownFamilies::FreeAll() {
  std::vector<std::unique_ptr<const FamilyTable>> all;
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) {
    if (entry.get() != shown_.load()) all.push_back(std::move(entry->table));
  }
}

}  // namespace rocksync
