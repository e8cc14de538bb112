// The policy's name in option strings: "rocksync:BITS" and what may follow.

#ifndef ROCKSYNC_PLUGIN_POLICY_STRING_H_
#define ROCKSYNC_PLUGIN_POLICY_STRING_H_

#include <string>

#include "rocksdb/status.h"
#include "rocksync/filter_policy.h"

namespace rocksync {

inline constexpr char kPolicyName[] = "rocksync";

// The string that ParsePolicyString turns into the same options.
std::string PolicyString(const FilterPolicyOptions& options);

// InvalidArgument if it is not of the form; the message says what is allowed.
rocksdb::Status ParsePolicyString(const std::string& text,
                                  FilterPolicyOptions* options);

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_POLICY_STRING_H_
