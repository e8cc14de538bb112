// A Bloom filter for RocksDB's SST files: fewer false positives than the
// built-in one at the same size, a fresh random seed in every filter, and more
// bits for the small upper levels of the tree than for the large last one.
//
//   rocksdb::BlockBasedTableOptions table;
//   table.filter_policy = rocksync::NewFilterPolicy(10);  // bits a key
//   options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
//
// Nothing else of rocksync is needed. Files written with another policy stay
// readable (their filters are ignored until compaction rewrites them), and a
// program without this library reads files written with this one, ignoring
// their filters. The bytes are specified in docs/filter_format.md.

#ifndef ROCKSYNC_FILTER_POLICY_H_
#define ROCKSYNC_FILTER_POLICY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "rocksdb/filter_policy.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE {
class ObjectLibrary;
}  // namespace ROCKSDB_NAMESPACE

namespace rocksync {

struct FilterPolicyOptions {
  // Size of a filter in bits per distinct key (or prefix) added, its trailer
  // included; with `level_aware`, the average over the whole tree. In [1, 50];
  // rounded to thousandths. False positives of one filter: 2.2 % at 8 bits,
  // 0.87 % at 10, 0.33 % at 12, 0.054 % at 16, 0.0095 % at 20.
  double bits_per_key = 10;

  // Give files of upper levels more bits and files of the last level fewer
  // (Dayan and others, "Monkey", SIGMOD 2017). The sum is `bits_per_key` for a
  // leveled tree whose levels grow by `level_size_ratio`. It is more where
  // RocksDB moves flushed files down without rewriting them (keys loaded in
  // order), at most by 2 * ln(ratio) / ln(2)^2 = 9.6 bits per key for 10, until
  // these files are compacted. Only files made by leveled compaction and
  // flushes are affected; files of unknown level (SstFileWriter), of universal
  // and of FIFO compaction always get `bits_per_key`.
  bool level_aware = true;

  // How many times larger a level is than the one above it; set it to
  // rocksdb's max_bytes_for_level_multiplier. In [2, 100]; rounded to
  // thousandths.
  double level_size_ratio = 10;
};

// OK, or InvalidArgument naming the first field out of range and its range.
rocksdb::Status CheckFilterPolicyOptions(const FilterPolicyOptions& options);

// A policy for BlockBasedTableOptions::filter_policy. Never null: a field out
// of range is moved to the nearest allowed value, NaN to its default (use
// CheckFilterPolicyOptions to refuse instead). Immutable and safe to share
// between threads, column families and databases. Costs about a millisecond.
std::shared_ptr<const rocksdb::FilterPolicy> NewFilterPolicy(
    const FilterPolicyOptions& options);

// The same with everything but the size at its default. A template, so that
// NewFilterPolicy({}) means the default options and not a size of 0 bits.
template <typename Number,
          typename = std::enable_if_t<std::is_arithmetic_v<Number>>>
std::shared_ptr<const rocksdb::FilterPolicy> NewFilterPolicy(
    Number bits_per_key) {
  FilterPolicyOptions options;
  options.bits_per_key = static_cast<double>(bits_per_key);
  return NewFilterPolicy(options);
}

// Makes RocksDB know the policy by name, so that option strings, OPTIONS files
// and FilterPolicy::CreateFromString accept
//   rocksync:BITS                    e.g. rocksync:10
//   rocksync:BITS:uniform            level_aware off
//   rocksync:BITS:leveled[:RATIO]    e.g. rocksync:12.5:leveled:8
// Registers with rocksdb::ObjectLibrary::Default(), once however often it is
// called. Call it before option strings are parsed and before a database is
// opened from an OPTIONS file. Without the call RocksDB takes the name without
// an error and writes no filters; check `filter_policy` in the new OPTIONS
// file. A string out of range is refused by DB::Open. Safe from any thread.
void RegisterFilterPolicy();

// The same for one library, in the form RocksDB's ObjectRegistry::AddLibrary
// and plugins want. `arg` is ignored. Returns the number of factories added:
// 1, or 0 where the RocksDB that was loaded calls filters in another way than
// the one compiled against.
int RegisterFilterPolicyInLibrary(rocksdb::ObjectLibrary& library,
                                  const std::string& arg);

// Counted over the whole process since its start. Cheap to read, any thread.
struct FilterPolicyCounters {
  // Filters met whose bytes are not of a format known here: truncated, damaged
  // or newer. Each was treated as "every key may match": slower, never wrong.
  // A filter counts each time it is loaded.
  uint64_t unusable_filters = 0;
};
FilterPolicyCounters GetFilterPolicyCounters();

}  // namespace rocksync

#endif  // ROCKSYNC_FILTER_POLICY_H_
