// The policy's name in option strings: "rocksync:BITS" and what may follow.

#ifndef ROCKSYNC_PLUGIN_POLICY_STRING_H_
#define ROCKSYNC_PLUGIN_POLICY_STRING_H_

#include <string>

#include "rocksdb/status.h"
#include "rocksync/filter_policy.h"

namespace rocksync {

inline constexpr char kPolicyName[] = "rocksync";

// Returns the string that ParsePolicyString turns into the same options.
std::string PolicyString(const FilterPolicyOptions& options);

// Returns InvalidArgument, which says what is allowed, if the form is wrong.
rocksdb::Status ParsePolicyString(const std::string& text,
                                  FilterPolicyOptions* options);

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_POLICY_STRING_H_
