#include "replication/session/storage_view.h"

#include <utility>

namespace rocksync {

std::vector<StorageSnapshot::Found> StorageSnapshot::FindPairs(
    std::span<const PlacedElement> elements, size_t max_bytes,
    const std::function<bool()>& cancelled) const {
  std::vector<Found> pairs;
  pairs.reserve(elements.size());
  size_t key_bytes = 0;
  size_t bytes = 0;
  for (const PlacedElement& element : elements) {
    if (key_bytes > max_bytes || (cancelled && cancelled())) break;
    Found found{FindElement(element.position, element.hash), std::nullopt};
    if (found.entry.ok() && !found.entry->tombstone && bytes <= max_bytes) {
      found.value = ReadValue(*found.entry);
      if (found.value->ok()) bytes += (*found.value)->size();
    }
    if (found.entry.ok()) key_bytes += found.entry->key.size();
    pairs.push_back(std::move(found));
  }
  return pairs;
}

}  // namespace rocksync
