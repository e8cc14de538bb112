#include "tests/simulation/memory_snapshot.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace rocksync {
namespace {

// The digests of all leaves take up to 1.5 MiB. Tests take many snapshots of
// few elements, so the vector is lent out, and returned with all digests 0.
class DigestPool {
 public:
  std::vector<Digest> Take(size_t leaves) {
    std::vector<std::vector<Digest>>& free = free_[leaves];
    if (free.empty()) return std::vector<Digest>(leaves);
    std::vector<Digest> digests = std::move(free.back());
    free.pop_back();
    return digests;
  }
  void Return(std::vector<Digest> digests) {
    free_[digests.size()].push_back(std::move(digests));
  }

 private:
  std::map<size_t, std::vector<std::vector<Digest>>> free_;  // by size
};
DigestPool& Digests() {
  thread_local DigestPool pool;
  return pool;
}

IndexEntry AsEntry(const RecordKey& key, const Record& record) {
  return {.family = key.first,
          .key = key.second,
          .version = record.version,
          .tombstone = record.tombstone,
          .hash = record.hash};
}

}  // namespace

MemorySnapshot::MemorySnapshot(std::shared_ptr<const Records> records,
                               uint64_t stable_time, int leaf_bits,
                               CorruptionFound corruption_found)
    : records_(std::move(records)),
      stable_time_(stable_time),
      leaf_bits_(leaf_bits),
      corruption_found_(std::move(corruption_found)),
      digests_(Digests().Take(size_t{1} << leaf_bits)) {
  order_.reserve(records_->size());
  for (const auto& [key, record] : *records_) {
    if (record.IsLeftOut(stable_time_)) ++left_out_;
    if (!record.Counts(stable_time_)) continue;
    order_.push_back({record.position, &key, &record});
    digests_[LeafOf(record.position, leaf_bits_)].Add(record.hash);
  }
  std::sort(order_.begin(), order_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.position, *a.key) < std::tie(b.position, *b.key);
  });
}

MemorySnapshot::~MemorySnapshot() {
  for (const Entry& entry : order_) {
    digests_[LeafOf(entry.position, leaf_bits_)] = {};
  }
  Digests().Return(std::move(digests_));
}

std::vector<MemorySnapshot::Entry>::const_iterator MemorySnapshot::From(
    uint64_t position) const {
  return std::lower_bound(
      order_.begin(), order_.end(), position,
      [](const Entry& entry, uint64_t at) { return entry.position < at; });
}

absl::Status MemorySnapshot::ScanPositions(uint64_t first, uint64_t last,
                                           const Visit& visit) const {
  for (auto it = From(first); it != order_.end() && it->position <= last;
       ++it) {
    visit(it->position, it->record->hash);
  }
  return absl::OkStatus();
}

absl::StatusOr<IndexEntry> MemorySnapshot::FindElement(
    uint64_t position, const ElementHash& hash) const {
  for (auto it = From(position); it != order_.end() && it->position == position;
       ++it) {
    if (it->record->hash == hash) return AsEntry(*it->key, *it->record);
  }
  return absl::NotFoundError("no such element");
}

absl::StatusOr<std::optional<IndexEntry>> MemorySnapshot::FindKey(
    uint32_t family, std::string_view key) const {
  const auto it = records_->find({family, std::string(key)});
  if (it == records_->end() || !it->second.Counts(stable_time_)) {
    return std::nullopt;
  }
  return AsEntry(it->first, it->second);
}

absl::StatusOr<bool> MemorySnapshot::LeavesOut(uint32_t family,
                                               std::string_view key) const {
  const auto it = records_->find({family, std::string(key)});
  return it != records_->end() && it->second.IsLeftOut(stable_time_);
}

absl::StatusOr<std::string> MemorySnapshot::ReadValue(
    const IndexEntry& entry) const {
  const auto it = records_->find({entry.family, entry.key});
  if (it == records_->end() || it->second.tombstone) {
    return absl::NotFoundError("no such key");
  }
  if (it->second.damage == Damage::kNone) return *it->second.value;
  if (!corruption_found_) return Corrupted(*it->second.value);
  corruption_found_(it->first, entry.version);
  return absl::DataLossError("corruption");
}

}  // namespace rocksync
