// Registers the policy with RocksDB by name, on demand only: nothing here runs
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

// The policy that a mistaken string becomes. It fails where it is configured
// and, should that be overlooked, where a database is opened with it. RocksDB
// ignores the error of a factory when it parses table options, and would go on
// without any filter.
class RefusedPolicy final : public rocksdb::FilterPolicy {
 public:
  RefusedPolicy(const std::string& text, const rocksdb::Status& why)
      : text_(text), why_(why) {}

  const char* Name() const override { return kPolicyName; }
  const char* CompatibilityName() const override { return kPolicyName; }
  std::string GetId() const override { return text_; }
  rocksdb::Status PrepareOptions(const rocksdb::ConfigOptions&) override {
    return why_;
  }
  rocksdb::Status ValidateOptions(
      const rocksdb::DBOptions&,
      const rocksdb::ColumnFamilyOptions&) const override {
    return why_;
  }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext&) const override {
    return nullptr;
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice&) const override {
    return nullptr;
  }

 private:
  const std::string text_;
  const rocksdb::Status why_;
};

// Creates the policy, which RocksDB owns through *guard.
const rocksdb::FilterPolicy* CreatePolicy(
    const std::string& text,
    std::unique_ptr<const rocksdb::FilterPolicy>* guard,
    std::string* /*error*/) {
  FilterPolicyOptions options;
  const rocksdb::Status status = ParsePolicyString(text, &options);
  if (status.ok()) {
    *guard = NewUniqueFilterPolicy(options);
  } else {
    guard->reset(new RefusedPolicy(text, status));
  }
  return guard->get();
}

}  // namespace

int RegisterFilterPolicyInLibrary(rocksdb::ObjectLibrary& library,
                                  const std::string& /*arg*/) {
  if (!FilterInterfaceMatchesLibrary()) return 0;
  // The pattern takes everything that begins like our name, so that
  // CreatePolicy, which knows what is allowed, answers a mistake in the rest.
  library.AddFactory<const rocksdb::FilterPolicy>(
      rocksdb::ObjectLibrary::PatternEntry(kPolicyName)
          .AddSeparator(":", /*at_least_one=*/false),
      CreatePolicy);
  return 1;
}

void RegisterFilterPolicy() {
  static std::once_flag once;
  std::call_once(once, [] {
    RegisterFilterPolicyInLibrary(*rocksdb::ObjectLibrary::Default(), "");
  });
}

}  // namespace rocksync
