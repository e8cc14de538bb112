// Seeds of filters: 64 random bits, so that keys chosen against one filter say
// nothing about any other.

#ifndef ROCKSYNC_PLUGIN_FILTER_SEED_H_
#define ROCKSYNC_PLUGIN_FILTER_SEED_H_

#include <cstdint>

namespace rocksync {

// Returns a seed from the operating system, in about half a microsecond; any
// thread.
uint64_t RandomFilterSeed();

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_FILTER_SEED_H_
