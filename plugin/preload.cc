// Registers the policy when librocksync_filter.so is loaded, so that programs
// which know nothing of it can use it. No other library has this file.

#include "rocksync/filter_policy.h"

namespace {

__attribute__((constructor)) void RegisterWhenLoaded() {
  rocksync::RegisterFilterPolicy();
}

}  // namespace
