#include "tests/bench/reconcile/workload_storage.h"

#include <algorithm>
#include <string>

#include "sketch/element/coding.h"

namespace rocksync::bench {
namespace {

constexpr size_t kValueBytes = 100;

std::string KeyOf(uint32_t number) {
  std::string key;
  PutFixed64(&key, number);
  return key;
}

uint32_t NumberOf(std::string_view key) {
  uint64_t number = 0;
  (void)GetFixed64(&key, &number);
  return static_cast<uint32_t>(number);
}

// A bijection that looks random, and 0 for no number (splitmix64).
uint64_t PositionOfNumber(uint32_t number) {
  uint64_t x = (uint64_t{number} + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

struct Entry {
  uint64_t position;
  uint32_t number;
  friend bool operator<(const Entry& a, const Entry& b) {
    return a.position < b.position;
  }
};

class Snapshot final : public StorageSnapshot {
 public:
  Snapshot(const std::vector<ElementHash>& elements, const Replica& replica)
      : elements_(elements), leaves_(kLeafCount) {
    entries_.reserve(replica.numbers.size());
    for (const uint32_t number : replica.numbers) {
      entries_.push_back({PositionOfNumber(number), number});
      leaves_[LeafOf(entries_.back().position)].Add(elements[number]);
    }
    std::sort(entries_.begin(), entries_.end());
  }

  std::span<const Digest> LeafDigests() const override { return leaves_; }

  absl::Status ScanPositions(uint64_t first, uint64_t last,
                             const Visit& visit) const override {
    for (auto it = Find(first); it != entries_.end() && it->position <= last;
         ++it) {
      visit(it->position, elements_[it->number]);
    }
    return absl::OkStatus();
  }

  uint64_t LeftOut() const override { return 0; }

  absl::StatusOr<bool> LeavesOut(uint32_t, std::string_view) const override {
    return false;
  }

  absl::StatusOr<IndexEntry> FindElement(uint64_t position,
                                         const ElementHash&) const override {
    const auto it = Find(position);
    if (it == entries_.end() || it->position != position) {
      return absl::NotFoundError("no such element");
    }
    return EntryOf(it->number);
  }

  absl::StatusOr<std::optional<IndexEntry>> FindKey(
      uint32_t, std::string_view key) const override {
    const uint32_t number = NumberOf(key);
    const auto it = Find(PositionOfNumber(number));
    if (it == entries_.end() || it->number != number) return std::nullopt;
    return EntryOf(number);
  }

  absl::StatusOr<std::string> ReadValue(const IndexEntry&) const override {
    return std::string(kValueBytes, 'v');
  }

 private:
  std::vector<Entry>::const_iterator Find(uint64_t position) const {
    return std::lower_bound(entries_.begin(), entries_.end(),
                            Entry{position, 0});
  }
  IndexEntry EntryOf(uint32_t number) const {
    IndexEntry entry;
    entry.key = KeyOf(number);
    entry.version = {.time = uint64_t{number} + 1, .replica = 1};
    entry.hash = elements_[number];
    return entry;
  }

  const std::vector<ElementHash>& elements_;
  std::vector<Entry> entries_;
  std::vector<Digest> leaves_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StorageSnapshot>> WorkloadStorage::TakeSnapshot(
    const std::function<bool()>&) {
  return std::make_unique<Snapshot>(*elements_, *replica_);
}

absl::Status WorkloadStorage::Apply(std::span<const Pair> pairs,
                                    const std::function<bool()>&,
                                    std::vector<ApplyOutcome>* outcomes) {
  outcomes->clear();
  for (const Pair& pair : pairs) {
    const uint32_t number = NumberOf(pair.key);
    const bool held = replica_->holds[number];
    if (!held) replica_->Gain((*elements_)[number], number);
    outcomes->push_back(held ? ApplyOutcome::kSuperseded
                             : ApplyOutcome::kApplied);
  }
  return absl::OkStatus();
}

bool WorkloadStorage::RejectIfTooFarAhead(const Version&) const {
  return false;
}

uint64_t WorkloadStorage::PositionOf(uint32_t, std::string_view key) const {
  return PositionOfNumber(NumberOf(key));
}

ElementHash WorkloadStorage::HashOf(const Pair& pair) const {
  return (*elements_)[NumberOf(pair.key)];
}

std::vector<ElementHash> ElementsByNumber(const Workload& workload) {
  std::vector<ElementHash> elements(workload.a.holds.size());
  for (const Replica* replica : {&workload.a, &workload.b}) {
    for (size_t i = 0; i < replica->elements.size(); ++i) {
      elements[replica->numbers[i]] = replica->elements[i];
    }
  }
  return elements;
}

}  // namespace rocksync::bench
