// Coded one-probe filters as an exchange sends and tests them: in slices, each
// a range of slots that is coded by itself.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_FILTER_H_
#define ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_FILTER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sketch/element/element.h"
#include "sketch/element/mapping.h"

namespace rocksync {

// The slots, among `slots`, that slice i of `slices` covers.
struct SlotRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};
SlotRange SliceRange(uint64_t slots, uint64_t slices, uint64_t i);

// Cuts an outgoing filter into slices. Holds the set slots, 8 bytes each.
class FilterSender {
 public:
  // Builds a filter of the elements whose ordinals are not marked in `closed`.
  // Slices are about `max_bytes` long at most.
  FilterSender(std::span<const ElementHash> elements,
               const std::vector<bool>& closed, const MappingKey& key,
               uint64_t slots, size_t max_bytes);

  uint64_t slots() const { return slots_; }
  uint64_t slices() const { return slices_; }
  bool done() const { return next_slice_ == slices_; }
  // Appends the next slice.
  void Next(std::string* out);

 private:
  const uint64_t slots_;
  uint64_t slices_ = 1;
  uint64_t next_slice_ = 0;
  size_t next_ = 0;
  std::vector<uint64_t> set_;  // ascending, distinct
};

// Tests an incoming filter slice by slice, and holds one slice at a time.
class FilterTester {
 public:
  FilterTester(std::span<const ElementHash> elements, const MappingKey& key,
               uint64_t slots, uint64_t slices)
      : elements_(elements), key_(key), slots_(slots), slices_(slices) {}

  bool done() const { return next_slice_ == slices_; }
  uint64_t set_slots() const { return set_slots_; }
  // Marks the ordinals of elements that this slice shows to be missing at the
  // peer. Returns InvalidArgument if the slice is damaged; nothing is marked
  // then. Linear in the elements, for every slice.
  absl::Status Test(std::string_view slice, std::vector<bool>* missing);

 private:
  const std::span<const ElementHash> elements_;
  const MappingKey key_;
  const uint64_t slots_;
  const uint64_t slices_;
  uint64_t next_slice_ = 0;
  uint64_t set_slots_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_FILTER_H_
