#include "replication/reconcile/exchange_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sketch/filter/filter_coding.h"
#include "sketch/planning/cost_model.h"

namespace rocksync {
namespace {

// Filters with at most this many slots per element are sorted by a bitmap.
constexpr uint64_t kSlotsPerElement = 64;
// Slices with at most this many slots per byte are tested with a bitmap, which
// then takes at most 16 times their bytes.
constexpr uint64_t kSlotsPerByte = 128;
constexpr uint64_t kSmallRange = uint64_t{1} << 20;
// The most set slots per byte of a slice: our filters spend at least 3/4 of a
// bit on each.
constexpr uint64_t kMaxSetSlotsPerByte = 16;

bool WorthBitmap(uint64_t range, uint64_t limit) {
  return range <= kSmallRange || range <= limit;
}

class Bitmap {
 public:
  explicit Bitmap(uint64_t size) : words_((size + 63) / 64, 0) {}
  void Set(uint64_t i) { words_[i / 64] |= uint64_t{1} << i % 64; }
  bool Get(uint64_t i) const { return words_[i / 64] >> i % 64 & 1; }
  void AppendSet(std::vector<uint64_t>* out) const {
    for (size_t w = 0; w < words_.size(); ++w) {
      for (uint64_t word = words_[w]; word != 0; word &= word - 1) {
        out->push_back(64 * w + std::countr_zero(word));
      }
    }
  }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace

SlotRange SliceRange(uint64_t slots, uint64_t slices, uint64_t i) {
  return {static_cast<uint64_t>(Uint128{slots} * i / slices),
          static_cast<uint64_t>(Uint128{slots} * (i + 1) / slices)};
}

FilterSender::FilterSender(std::span<const ElementHash> elements,
                           const std::vector<bool>& closed,
                           const MappingKey& key, uint64_t slots,
                           size_t max_bytes)
    : slots_(slots) {
  set_.reserve(elements.size());
  const auto for_each_slot = [&](const auto& visit) {
    for (size_t i = 0; i < elements.size(); ++i) {
      if (closed[i]) continue;
      visit(Place(elements[i], key, slots, Reduction::kMixed));
    }
  };
  if (WorthBitmap(slots, kSlotsPerElement * elements.size())) {
    Bitmap bitmap(slots);
    for_each_slot([&](uint64_t slot) { bitmap.Set(slot); });
    bitmap.AppendSet(&set_);
  } else {
    for_each_slot([&](uint64_t slot) { set_.push_back(slot); });
    std::sort(set_.begin(), set_.end());
    set_.erase(std::unique(set_.begin(), set_.end()), set_.end());
  }
  const double p =
      static_cast<double>(set_.size()) / static_cast<double>(slots);
  if (p > 0 && p < 1) {
    const double bytes = static_cast<double>(set_.size()) / p *
                         FilterBitsPerElement(p) * -std::log1p(-p) / 8;
    // Leaves some room for the head and for chance.
    const double room = 0.9 * static_cast<double>(max_bytes) - 40;
    slices_ = static_cast<uint64_t>(
        std::max(1.0, std::ceil(bytes * 1.02 / std::max(room, 16.0))));
    slices_ = std::min(slices_, slots);
  }
}

void FilterSender::Next(std::string* out) {
  const SlotRange range = SliceRange(slots_, slices_, next_slice_++);
  std::vector<uint64_t> slots;
  for (; next_ < set_.size() && set_[next_] < range.end; ++next_) {
    slots.push_back(set_[next_] - range.begin);
  }
  EncodeSlots(slots, range.end - range.begin, out);
}

absl::Status FilterTester::Test(std::string_view slice,
                                std::vector<bool>* missing) {
  const absl::Status damaged =
      absl::InvalidArgumentError("filter slice damaged");
  const SlotRange range = SliceRange(slots_, slices_, next_slice_++);
  const uint64_t size = range.end - range.begin;
  SlotReader reader;
  if (!SlotReader::Open(slice, size, &reader) ||
      reader.count() / kMaxSetSlotsPerByte > slice.size()) {
    return damaged;
  }
  const auto for_each_element = [&](const auto& is_set) {
    for (size_t i = 0; i < elements_.size(); ++i) {
      const uint64_t slot =
          Place(elements_[i], key_, slots_, Reduction::kMixed) - range.begin;
      if (slot < size && !is_set(slot)) (*missing)[i] = true;
    }
  };
  uint64_t slot = 0;
  if (WorthBitmap(size, kSlotsPerByte * slice.size())) {
    Bitmap bitmap(size);
    while (reader.Next(&slot)) bitmap.Set(slot);
    if (!reader.ok()) return damaged;
    for_each_element([&](uint64_t s) { return bitmap.Get(s); });
  } else {
    std::vector<uint64_t> slots;
    while (reader.Next(&slot)) slots.push_back(slot);
    if (!reader.ok()) return damaged;
    for_each_element([&](uint64_t s) {
      return std::binary_search(slots.begin(), slots.end(), s);
    });
  }
  set_slots_ += reader.count();
  return absl::OkStatus();
}

}  // namespace rocksync
