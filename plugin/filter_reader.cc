#include "plugin/filter_reader.h"

#include <algorithm>
#include <atomic>

#include "rocksync/filter_policy.h"

namespace rocksync {
namespace {

std::atomic<uint64_t> unusable_filters{0};

// Answers for a filter without keys.
class EmptyReader final : public rocksdb::FilterBitsReader {
 public:
  bool MayMatch(const rocksdb::Slice& /*key*/) override { return false; }
  void MayMatch(int count, rocksdb::Slice** /*keys*/,
                bool* may_match) override {
    std::fill_n(may_match, count, false);
  }
};

}  // namespace

rocksdb::FilterBitsReader* NewFilterReader(const rocksdb::Slice& filter,
                                           const FilterKernel& kernel) {
  TableFilterShape shape;
  if (!DecodeFilterTrailer(filter.data(), filter.size(), &shape)) {
    unusable_filters.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  if (shape.line_count == 0) return new EmptyReader;
  return kernel.new_reader(FilterView(filter.data(), shape));
}

FilterPolicyCounters GetFilterPolicyCounters() {
  FilterPolicyCounters counters;
  counters.unusable_filters = unusable_filters.load(std::memory_order_relaxed);
  return counters;
}

}  // namespace rocksync
