// Our filter policy, as RocksDB's own tests of Bloom filters make theirs: their
// sources are altered by tests/support/patch_rocksdb_program.py to call these.

#ifndef ROCKSYNC_TESTS_BLOOM_POLICY_H_
#define ROCKSYNC_TESTS_BLOOM_POLICY_H_

#include <memory>

#include "rocksdb/filter_policy.h"

namespace rocksync::bloom {

// Each filter has the bits that it is asked for, as the built-in one's.
std::shared_ptr<const rocksdb::FilterPolicy> SharedPolicy(double bits_per_key);

// As rocksdb::NewBloomFilterPolicy: the caller owns it.
const rocksdb::FilterPolicy* NewPolicy(double bits_per_key,
                                       bool use_block_based_builder = false);

}  // namespace rocksync::bloom

#endif  // ROCKSYNC_TESTS_BLOOM_POLICY_H_
