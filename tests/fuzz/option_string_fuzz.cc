// Arbitrary text as the filter policy's name in an option string or OPTIONS
// file: refused with a message, or options in range that their own string
// brings back.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plugin/policy_string.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  rocksync::FilterPolicyOptions options;
  const rocksdb::Status status = rocksync::ParsePolicyString(text, &options);
  if (!status.ok()) {
    Require(status.IsInvalidArgument() && status.getState() != nullptr);
    return 0;
  }
  Require(rocksync::CheckFilterPolicyOptions(options).ok());
  const std::string canonical = rocksync::PolicyString(options);
  rocksync::FilterPolicyOptions again;
  Require(rocksync::ParsePolicyString(canonical, &again).ok());
  Require(rocksync::PolicyString(again) == canonical);
  return 0;
}
