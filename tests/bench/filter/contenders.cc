#include "tests/bench/filter/contenders.h"

#include <algorithm>
#include <utility>

namespace rocksync::bench {

std::vector<Contender> Contenders(double bits_per_key) {
  std::vector<Contender> all;
  all.push_back({"bloom", "library",
                 std::shared_ptr<const rocksdb::FilterPolicy>(
                     rocksdb::NewBloomFilterPolicy(bits_per_key))});
  all.push_back(
      {"ribbon", "library",
       std::shared_ptr<const rocksdb::FilterPolicy>(
           rocksdb::NewRibbonFilterPolicy(bits_per_key, /*before_level=*/-1))});
  FilterPolicyOptions options;
  options.bits_per_key = bits_per_key;
  for (const FilterKernel* kernel :
       {&PortableFilterKernel(), Avx2FilterKernel(), Avx512FilterKernel()}) {
    if (kernel == nullptr) continue;
    all.push_back(
        {"rocksync", kernel->name, NewUniqueFilterPolicy(options, *kernel)});
  }
  return all;
}

std::unique_ptr<rocksdb::FilterBitsBuilder> NewBuilder(
    const Contender& contender) {
  rocksdb::BlockBasedTableOptions options;
  options.format_version = 5;
  const rocksdb::FilterBuildingContext context(options);
  return std::unique_ptr<rocksdb::FilterBitsBuilder>(
      contender.filter_policy->GetBuilderWithContext(context));
}

Filter::Filter(const Contender& contender,
               const std::vector<rocksdb::Slice>& keys)
    : Filter(contender, [&] {
        auto builder = NewBuilder(contender);
        for (const rocksdb::Slice& key : keys) builder->AddKey(key);
        return builder;
      }()) {}

Filter::Filter(const Contender& contender,
               std::unique_ptr<rocksdb::FilterBitsBuilder> builder)
    : contents_(builder->Finish(&owned_)),
      reader_(contender.filter_policy->GetFilterBitsReader(contents_)) {}

size_t Filter::Touch() const {
  constexpr size_t kSecondCache = 1 << 20;
  size_t sum = 0;
  for (size_t i = 0; i < std::min(contents_.size(), kSecondCache); i += 64) {
    sum += static_cast<unsigned char>(contents_[i]);
  }
  return sum;
}

}  // namespace rocksync::bench
