#include "rocksync/filter_policy.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "plugin/filter_builder.h"
#include "plugin/filter_interface.h"
#include "plugin/filter_reader.h"
#include "plugin/filter_sizing.h"
#include "plugin/policy.h"
#include "plugin/policy_string.h"
#include "rocksdb/table.h"

namespace rocksync {
namespace {

// The name under which SST files carry the filter. It never changes, since
// formats are told apart by the trailer.
constexpr char kCompatibilityName[] = "rocksync.Filter";

struct SizedFilter {
  double bits_per_key;
  FilterProbes probes;
};

SizedFilter Sized(double bits_per_key) {
  return {bits_per_key, ChooseProbes(bits_per_key)};
}

class RocksyncFilterPolicy final : public rocksdb::FilterPolicy {
 public:
  RocksyncFilterPolicy(const FilterPolicyOptions& options,
                       const FilterKernel& kernel)
      : kernel_(kernel),
        id_(PolicyString(options)),
        level_aware_(options.level_aware),
        mean_(Sized(options.bits_per_key)),
        at_height_{Sized(BitsAtHeight(options, FilterHeight::kLast)),
                   Sized(BitsAtHeight(options, FilterHeight::kMiddle)),
                   Sized(BitsAtHeight(options, FilterHeight::kTop))} {}

  const char* Name() const override { return kPolicyName; }
  const char* CompatibilityName() const override { return kCompatibilityName; }
  std::string GetId() const override { return id_; }

  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    if (!FilterInterfaceMatchesLibrary()) return nullptr;  // no filter
    const SizedFilter& sized = SizedFor(context);
    FilterBuilderConfig config;
    config.bits_per_key = sized.bits_per_key;
    config.probes = sized.probes;
    config.detect_corruption =
        context.table_options.detect_filter_construct_corruption;
    config.kernel = &kernel_;
    return new FilterBuilder(config, context.table_options);
  }

  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice& contents) const override {
    return NewFilterReader(contents, kernel_);
  }

 private:
  const SizedFilter& SizedFor(
      const rocksdb::FilterBuildingContext& context) const {
    FilterHeight height;
    return level_aware_ && HeightOf(context, &height)
               ? at_height_[static_cast<int>(height)]
               : mean_;
  }

  const FilterKernel& kernel_;
  const std::string id_;
  const bool level_aware_;
  const SizedFilter mean_;
  const SizedFilter at_height_[kFilterHeights];
};

bool InRange(double value, double low, double high) {
  return value >= low && value <= high;  // NaN is not
}

double Allowed(double value, double low, double high, double if_nan) {
  if (std::isnan(value)) return if_nan;
  return std::round(std::clamp(value, low, high) * 1000) / 1000;
}

}  // namespace

rocksdb::Status CheckFilterPolicyOptions(const FilterPolicyOptions& options) {
  if (!InRange(options.bits_per_key, kMinBitsPerKey, kMaxBitsPerKey)) {
    return rocksdb::Status::InvalidArgument(
        "bits_per_key of the rocksync filter policy must be from 1 to 50");
  }
  if (!InRange(options.level_size_ratio, kMinLevelSizeRatio,
               kMaxLevelSizeRatio)) {
    return rocksdb::Status::InvalidArgument(
        "level_size_ratio of the rocksync filter policy must be from 2 to 100");
  }
  return rocksdb::Status::OK();
}

std::unique_ptr<const rocksdb::FilterPolicy> NewUniqueFilterPolicy(
    const FilterPolicyOptions& options, const FilterKernel& kernel) {
  const FilterPolicyOptions defaults;
  FilterPolicyOptions allowed = options;
  allowed.bits_per_key = Allowed(options.bits_per_key, kMinBitsPerKey,
                                 kMaxBitsPerKey, defaults.bits_per_key);
  allowed.level_size_ratio =
      Allowed(options.level_size_ratio, kMinLevelSizeRatio, kMaxLevelSizeRatio,
              defaults.level_size_ratio);
  return std::make_unique<RocksyncFilterPolicy>(allowed, kernel);
}

std::shared_ptr<const rocksdb::FilterPolicy> NewFilterPolicy(
    const FilterPolicyOptions& options) {
  return NewUniqueFilterPolicy(options);
}

}  // namespace rocksync
