// The policies compared: RocksDB's built-in Bloom and Ribbon filters and ours
// with each instruction set this processor has, all behind RocksDB's own
// interface.

#ifndef ROCKSYNC_TESTS_BENCH_FILTER_CONTENDERS_H_
#define ROCKSYNC_TESTS_BENCH_FILTER_CONTENDERS_H_

#include <memory>
#include <string>
#include <vector>

#include "plugin/filter_interface.h"
#include "plugin/policy.h"
#include "rocksdb/table.h"

namespace rocksync::bench {

struct Contender {
  std::string policy;  // "bloom", "ribbon", "rocksync"
  std::string isa;     // "library" or a kernel's name
  std::shared_ptr<const rocksdb::FilterPolicy> filter_policy;
};

// The first is the built-in Bloom filter, which ratios refer to; the last is
// ours as users get it.
std::vector<Contender> Contenders(double bits_per_key);

// A filter as RocksDB holds one: bytes from new char[] and a reader of them.
class Filter {
 public:
  Filter(const Contender& contender, const std::vector<rocksdb::Slice>& keys);
  Filter(const Contender& contender,
         std::unique_ptr<rocksdb::FilterBitsBuilder> builder);

  size_t bytes() const { return contents_.size(); }
  // Reads the filter, as far as it fits into a processor's second cache, and
  // gives something that depends on it.
  size_t Touch() const;
  rocksdb::FilterBitsReader& reader() const { return *reader_; }

 private:
  std::unique_ptr<const char[]> owned_;
  rocksdb::Slice contents_;
  std::unique_ptr<rocksdb::FilterBitsReader> reader_;
};

std::unique_ptr<rocksdb::FilterBitsBuilder> NewBuilder(
    const Contender& contender);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_FILTER_CONTENDERS_H_
