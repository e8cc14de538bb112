// Readers answer for filters.

#ifndef ROCKSYNC_PLUGIN_FILTER_READER_H_
#define ROCKSYNC_PLUGIN_FILTER_READER_H_

#include "plugin/filter_interface.h"
#include "plugin/filter_kernel.h"

namespace rocksync {

// Returns a reader for the bytes of one filter, which it does not own; the
// caller owns the reader. Returns null, which RocksDB takes as "every key may
// match", if the bytes are of no format known here; these filters are counted.
rocksdb::FilterBitsReader* NewFilterReader(const rocksdb::Slice& filter,
                                           const FilterKernel& kernel);

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_FILTER_READER_H_
