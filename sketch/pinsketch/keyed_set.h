// A set of elements in the order of their places under one mapping, and the
// short ids by which a sketch knows them.

#ifndef ROCKSYNC_SKETCH_PINSKETCH_KEYED_SET_H_
#define ROCKSYNC_SKETCH_PINSKETCH_KEYED_SET_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sketch/element/element.h"
#include "sketch/element/mapping.h"
#include "sketch/pinsketch/field.h"
#include "sketch/pinsketch/power_sums.h"

namespace rocksync {

// A place is the leading 40 bits of Mix(hash, key).
inline constexpr int kPlaceBits = 40;
inline constexpr size_t kMaxKeyedElements = size_t{1} << 24;

// A set of at most kMaxKeyedElements elements, as places and ordinals in the
// order of places; 8 to 10 bytes each, and made in linear time.
class KeyedSet {
 public:
  KeyedSet() = default;
  KeyedSet(std::span<const ElementHash> elements, const MappingKey& key);

  size_t size() const { return entries_.size(); }
  uint64_t place(size_t i) const { return entries_[i] >> kOrdinalBits; }
  uint32_t ordinal(size_t i) const {
    return static_cast<uint32_t>(entries_[i] & (kMaxKeyedElements - 1));
  }

  // Removes the elements whose ordinals are marked.
  void Remove(const std::vector<bool>& marked);

 private:
  static constexpr int kOrdinalBits = 24;
  std::vector<uint64_t> entries_;
};

// The shape of names: an element has a group and a short id within it. For a
// place p,
//   group = (p * groups) >> 40,
//   id    = the leading `bits` bits of (p * groups) mod 2^40, or 1 for 0.
struct IdShape {
  uint32_t groups = 1;
  int bits = 16;  // 4 .. 32
  friend bool operator==(const IdShape&, const IdShape&) = default;
};

// The short ids of a keyed set, made in one pass over it.
class ShortIds {
 public:
  ShortIds(const KeyedSet& set, const IdShape& shape);

  const IdShape& shape() const { return shape_; }

  // ids()[i] is the id of the i-th element of the set.
  std::span<const uint32_t> ids() const { return ids_; }
  ElementRange group(uint32_t g) const { return groups_[g]; }

  // Returns power sums [first, first + count) of each of `groups`, which
  // ascend, one row after the other. Sums that are likely to be asked for later
  // are computed with them where that takes less time.
  std::vector<uint32_t> Sums(uint32_t first, uint32_t count,
                             std::span<const uint32_t> groups);

 private:
  void ComputeSingle(uint32_t end);
  void ComputeAll(uint32_t end);

  IdShape shape_;
  uint32_t known_ = 0;          // how many sums of every group are known
  std::vector<uint32_t> sums_;  // these sums, a row of known_ a group
  std::vector<uint32_t> ids_;
  std::vector<ElementRange> groups_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PINSKETCH_KEYED_SET_H_
