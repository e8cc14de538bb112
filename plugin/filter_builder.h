// Builds the filters of keys.

#ifndef ROCKSYNC_PLUGIN_FILTER_BUILDER_H_
#define ROCKSYNC_PLUGIN_FILTER_BUILDER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "plugin/construction_charge.h"
#include "plugin/filter_format.h"
#include "plugin/filter_hash.h"
#include "plugin/filter_interface.h"
#include "plugin/filter_kernel.h"
#include "plugin/filter_seed.h"
#include "plugin/hash_log.h"

namespace rocksync {

struct FilterBuilderConfig {
  double bits_per_key;
  FilterProbes probes;
  bool detect_corruption = false;  // keep hashes and check each filter
  const FilterKernel* kernel = &BestFilterKernel();
  uint64_t (*new_seed)() = &RandomFilterSeed;  // called once for each filter
};

// Builds filters, one after the other. Remembers 7 bytes a key until Finish,
// which makes the filter and starts anew. So the peak is 7 bytes a key and the
// filter: no more than 10 bytes a key at up to 24 bits per key.
class FilterBuilder final : public rocksdb::FilterBitsBuilder {
 public:
  FilterBuilder(const FilterBuilderConfig& config,
                const rocksdb::BlockBasedTableOptions& options);

  void AddKey(const rocksdb::Slice& key) override;
#if ROCKSYNC_FILTER_HAS_ADD_KEY_AND_ALT
  void AddKeyAndAlt(const rocksdb::Slice& key,
                    const rocksdb::Slice& alt) override {
    AddKeyAndPrefix(key, alt);
  }
#endif
  size_t EstimateEntriesAdded() override;
  rocksdb::Slice Finish(std::unique_ptr<const char[]>* buf) override;
  rocksdb::Slice Finish(std::unique_ptr<const char[]>* buf,
                        rocksdb::Status* status) override;
  rocksdb::Status MaybePostVerify(const rocksdb::Slice& filter) override;
  size_t ApproximateNumEntries(size_t bytes) override;
#if ROCKSYNC_FILTER_HAS_CALCULATE_SPACE
  size_t CalculateSpace(size_t entries) override { return SpaceFor(entries); }
  double EstimatedFpRate(size_t entries, size_t bytes) override {
    return FalsePositiveRate(entries, bytes);
  }
#endif

  // These do, in every version, what newer RocksDB's virtual functions do.
  void AddKeyAndPrefix(const rocksdb::Slice& key, const rocksdb::Slice& prefix);
  size_t SpaceFor(size_t entries) const;
  double FalsePositiveRate(size_t entries, size_t bytes) const;

 private:
  uint64_t Hash(const rocksdb::Slice& key);
  void Add(uint64_t hash);
  bool ContainsAll(const rocksdb::Slice& filter) const;
  void Charge(size_t filter_bytes);
  void Start();      // draws the seed of the next filter
  void StartAnew();  // discards the keys of the last one

  const FilterBuilderConfig config_;
  ConstructionCharge charge_;
  HashLog hashes_;
  uint64_t seed_ = 0;
  FilterHasher hash_;  // hashes with seed_
  // Hashes of the latest key and prefix, which reveal repetitions: keys come in
  // order, so only neighbours repeat.
  std::optional<uint64_t> last_key_;
  std::optional<uint64_t> last_prefix_;
  bool started_ = false;  // seed_ is that of the filter being built
  // Whether hashes_ are those of the filter last finished. Other threads read
  // it.
  std::atomic<bool> finished_{false};
};

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_FILTER_BUILDER_H_
