// Kernels are the inner loops, once per instruction set. All of them set and
// test the same bits; which one runs is decided at run time.

#ifndef ROCKSYNC_PLUGIN_FILTER_KERNEL_H_
#define ROCKSYNC_PLUGIN_FILTER_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "plugin/filter_format.h"
#include "plugin/filter_hash.h"
#include "plugin/filter_interface.h"

namespace rocksync {

// An undamaged, non-empty filter in memory. Does not own the bytes, which may
// have any alignment.
struct FilterView {
  FilterView() = default;
  FilterView(const char* filter, const TableFilterShape& shape);

  const char* lines = nullptr;
  uint32_t line_count = 0;
  uint32_t window = 0;  // FilterWindow(line_count)
  // Multipliers of the first line's probes and, from the ninth on, the
  // second's. Each eight are filled up by repetition: testing a bit twice costs
  // a vector nothing.
  const uint32_t* multipliers = nullptr;
  // Comes last, so that what keys of 9 to 16 bytes need fits into one cache
  // line.
  FilterHasher hash;
};

struct FilterKernel {
  const char* name;  // "portable", "avx2", "avx512"

  // Makes a reader, owned by the caller, of a filter that outlives it.
  rocksdb::FilterBitsReader* (*new_reader)(const FilterView& filter);

  // Returns whether the key of this hash may have been added.
  bool (*test)(const FilterView& filter, uint64_t hash);

  // Sets the bits of keys given by their hashes. `lines` has room for
  // shape.line_count (not 0) lines.
  void (*add)(char* lines, const TableFilterShape& shape,
              const uint64_t* hashes, size_t count);
};

const FilterKernel& PortableFilterKernel();

// Return null if the compiler or this processor cannot run the kernel.
const FilterKernel* Avx2FilterKernel();
const FilterKernel* Avx512FilterKernel();

// Returns the fastest kernel of this processor. Decided once.
const FilterKernel& BestFilterKernel();

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_FILTER_KERNEL_H_
