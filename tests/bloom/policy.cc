#include "tests/bloom/policy.h"

#include <utility>

#include "rocksync/filter_policy.h"

namespace rocksync::bloom {
namespace {

// Shares a policy that RocksDB's tests want to own.
class Owned : public rocksdb::FilterPolicy {
 public:
  explicit Owned(std::shared_ptr<const FilterPolicy> policy)
      : policy_(std::move(policy)) {}

  const char* Name() const override { return policy_->Name(); }
  const char* CompatibilityName() const override {
    return policy_->CompatibilityName();
  }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    return policy_->GetBuilderWithContext(context);
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice& contents) const override {
    return policy_->GetFilterBitsReader(contents);
  }

 private:
  const std::shared_ptr<const FilterPolicy> policy_;
};

}  // namespace

std::shared_ptr<const rocksdb::FilterPolicy> SharedPolicy(double bits_per_key) {
  FilterPolicyOptions options;
  options.bits_per_key = bits_per_key;
  options.level_aware = false;
  return NewFilterPolicy(options);
}

const rocksdb::FilterPolicy* NewPolicy(double bits_per_key, bool) {
  return new Owned(SharedPolicy(bits_per_key));
}

}  // namespace rocksync::bloom
