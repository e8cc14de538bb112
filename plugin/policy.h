// The policy for internal users: registration, tests, benchmarks.

#ifndef ROCKSYNC_PLUGIN_POLICY_H_
#define ROCKSYNC_PLUGIN_POLICY_H_

#include <memory>

#include "plugin/filter_kernel.h"
#include "rocksdb/filter_policy.h"
#include "rocksync/filter_policy.h"

namespace rocksync {

// Makes the policy of NewFilterPolicy, with a kernel, which changes speed only.
std::unique_ptr<const rocksdb::FilterPolicy> NewUniqueFilterPolicy(
    const FilterPolicyOptions& options,
    const FilterKernel& kernel = BestFilterKernel());

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_POLICY_H_
