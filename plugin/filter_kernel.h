// The inner loops, once per instruction set. All set and test the same bits;
// which one runs is decided when the program does.

#ifndef ROCKSYNC_PLUGIN_FILTER_KERNEL_H_
#define ROCKSYNC_PLUGIN_FILTER_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "plugin/filter_format.h"
#include "rocksdb/slice.h"

namespace rocksync {

// An undamaged, non-empty filter in memory. Does not own the bytes, which may
// have any alignment.
struct FilterView {
  FilterView() = default;
  FilterView(const char* filter, const FilterShape& shape);

  const char* lines = nullptr;
  uint64_t seed = 0;
  uint32_t line_count = 0;
  uint32_t window = 0;         // FilterWindow(line_count)
  uint32_t first_probes = 0;   // of a key in its first line
  uint32_t second_probes = 0;  // and in its second
  uint32_t first_lanes = 0;    // the probes as bits: 0 and on
  uint32_t second_lanes = 0;   // 8 and on
};

struct FilterKernel {
  const char* name;  // "portable", "avx2", "avx512"

  // Whether the key may have been added.
  bool (*may_match)(const FilterView& filter, const char* key, size_t size);

  // The same for any number of keys; faster, as their memory is fetched
  // together.
  void (*may_match_batch)(const FilterView& filter, size_t count,
                          rocksdb::Slice** keys, bool* may_match);

  // Whether the key of this hash may have been added.
  bool (*test)(const FilterView& filter, uint64_t hash);

  // Sets the bits of keys given by their hashes. `lines` has room for
  // shape.line_count (not 0) lines.
  void (*add)(char* lines, const FilterShape& shape, const uint64_t* hashes,
              size_t count);
};

const FilterKernel& PortableFilterKernel();

// Null where the compiler or this processor cannot run them.
const FilterKernel* Avx2FilterKernel();
const FilterKernel* Avx512FilterKernel();

// The fastest one here. Decided once.
const FilterKernel& BestFilterKernel();

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_FILTER_KERNEL_H_
