// Makes the policy known to RocksDB by name. Only on demand: nothing here runs
// before it is called.

#include <memory>
#include <mutex>
#include <string>

#include "plugin/filter_interface.h"
#include "plugin/policy.h"
#include "plugin/policy_string.h"
#include "rocksdb/utilities/object_registry.h"
#include "rocksync/filter_policy.h"

namespace rocksync {
namespace {

// RocksDB takes ownership through *guard; it makes policies only as unique
// objects, so the shared pointer's control block cannot be used.
const rocksdb::FilterPolicy* CreatePolicy(
    const std::string& text,
    std::unique_ptr<const rocksdb::FilterPolicy>* guard, std::string* error) {
  FilterPolicyOptions options;
  const rocksdb::Status status = ParsePolicyString(text, &options);
  if (!status.ok()) {
    *error = status.ToString();
    return nullptr;
  }
  *guard = NewUniqueFilterPolicy(options);
  return guard->get();
}

}  // namespace

int RegisterFilterPolicy(rocksdb::ObjectLibrary& library,
                         const std::string& /*arg*/) {
  if (!FilterInterfaceMatchesLibrary()) return 0;
  // Everything that begins like our name, so that a mistake in the rest is
  // answered by us, who know what is allowed.
  library.AddFactory<const rocksdb::FilterPolicy>(
      rocksdb::ObjectLibrary::PatternEntry(kPolicyName)
          .AddSeparator(":", /*at_least_one=*/false),
      CreatePolicy);
  return 1;
}

void RegisterFilterPolicy() {
  static std::once_flag once;
  std::call_once(once, [] {
    RegisterFilterPolicy(*rocksdb::ObjectLibrary::Default(), "");
  });
}

}  // namespace rocksync
