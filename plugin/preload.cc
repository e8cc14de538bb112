// Only in librocksync_filter.so: registers the policy when the library is
// loaded, so that programs which know nothing of it can use it.

#include "rocksync/filter_policy.h"

namespace {

__attribute__((constructor)) void RegisterWhenLoaded() {
  rocksync::RegisterFilterPolicy();
}

}  // namespace
