#include "plugin/filter_builder.h"

#include <algorithm>
#include <cstring>

#include "plugin/filter_hash.h"
#include "plugin/filter_sizing.h"

namespace rocksync {
namespace {

// From this size on, allocators give a block pages of its own, and its address
// is as well aligned the next time.
constexpr size_t kPadFromBytes = 128 << 10;

// From this size on, a filter is filled one part after the other.
constexpr uint32_t kSortFromLines = (8 << 20) / kFilterLineBytes;

// Allocates zeroed memory for a filter. A large one is padded so that its lines
// are aligned here, in the hope that RocksDB's own allocation will be placed
// alike when it reads the filter; it is only faster if so.
std::unique_ptr<char[]> Allocate(TableFilterShape* shape) {
  const size_t most = shape->bytes() + kFilterLineBytes;
  std::unique_ptr<char[]> filter(new char[most]);
  if (shape->bytes() >= kPadFromBytes) {
    const auto address = reinterpret_cast<uintptr_t>(filter.get());
    shape->padding = static_cast<uint32_t>(-address % kFilterLineBytes);
  }
  std::memset(filter.get(), 0, shape->bytes());
  return filter;
}

}  // namespace

FilterBuilder::FilterBuilder(const FilterBuilderConfig& config,
                             const rocksdb::BlockBasedTableOptions& options)
    : config_(config), charge_(options) {}

// Hash and Add are called for every key; inlined, they save a fifth of the
// time.
ROCKSYNC_INLINE uint64_t FilterBuilder::Hash(const rocksdb::Slice& key) {
  if (!started_) Start();
  return hash_(key.data(), key.size());
}

ROCKSYNC_INLINE void FilterBuilder::Add(uint64_t hash) {
  if (hashes_.Append(hash)) Charge(0);
}

void FilterBuilder::AddKey(const rocksdb::Slice& key) {
  const uint64_t hash = Hash(key);
  if (last_key_ == hash) return;
  Add(hash);
  last_key_ = hash;
}

void FilterBuilder::AddKeyAndPrefix(const rocksdb::Slice& key,
                                    const rocksdb::Slice& prefix) {
  const uint64_t key_hash = Hash(key);
  const uint64_t prefix_hash = Hash(prefix);
  const auto seen = [this](uint64_t hash) {
    return last_key_ == hash || last_prefix_ == hash;
  };
  const bool new_key = !seen(key_hash);
  const bool new_prefix = !seen(prefix_hash) && prefix_hash != key_hash;
  if (new_prefix) Add(prefix_hash);
  if (new_key) Add(key_hash);
  last_key_ = key_hash;
  last_prefix_ = prefix_hash;
}

size_t FilterBuilder::EstimateEntriesAdded() {
  return finished_ ? 0 : hashes_.size();
}

rocksdb::Slice FilterBuilder::Finish(std::unique_ptr<const char[]>* buf) {
  return Finish(buf, nullptr);
}

rocksdb::Slice FilterBuilder::Finish(std::unique_ptr<const char[]>* buf,
                                     rocksdb::Status* status) {
  if (finished_ && !started_) StartAnew();  // a second Finish: an empty filter
  TableFilterShape shape;
  shape.seed = seed_;
  shape.line_count = FilterLineCount(hashes_.size(), config_.bits_per_key);
  shape.probes = config_.probes;
  if (shape.line_count > kSortFromLines) {
    Charge(HashLog::kScratchBytes);
    hashes_.SortByAddress();
  }
  Charge(shape.bytes() + kFilterLineBytes);
  std::unique_ptr<char[]> filter = Allocate(&shape);
  hashes_.ForEachGroup([&](const uint64_t* hashes, size_t count) {
    config_.kernel->add(filter.get() + shape.padding, shape, hashes, count);
  });
  EncodeFilterTrailer(shape,
                      filter.get() + shape.bytes() - kFilterTrailerBytes);

  rocksdb::Status checked;
  if (config_.detect_corruption && !hashes_.Verify()) {
    checked = rocksdb::Status::Corruption(
        "rocksync filter: hashes of keys changed in memory");
  }
  if (status != nullptr) *status = checked;
  started_ = false;
  finished_ = true;
  if (!config_.detect_corruption) StartAnew();
  if (!checked.ok()) {
    // A caller that uses the bytes regardless must not miss keys: without a
    // trailer every key may match.
    buf->reset();
    return rocksdb::Slice();
  }
  *buf = std::move(filter);
  return rocksdb::Slice(buf->get(), shape.bytes());
}

rocksdb::Status FilterBuilder::MaybePostVerify(const rocksdb::Slice& filter) {
  if (!config_.detect_corruption || !finished_ || started_) {
    return rocksdb::Status::OK();
  }
  const bool all_there = ContainsAll(filter);
  StartAnew();
  return all_there ? rocksdb::Status::OK()
                   : rocksdb::Status::Corruption(
                         "rocksync filter: does not contain its keys");
}

bool FilterBuilder::ContainsAll(const rocksdb::Slice& filter) const {
  TableFilterShape shape;
  if (!DecodeFilterTrailer(filter.data(), filter.size(), &shape)) return false;
  if (shape.line_count == 0) return hashes_.size() == 0;
  const FilterView view(filter.data(), shape);
  bool all_there = true;
  hashes_.ForEachGroup([&](const uint64_t* hashes, size_t count) {
    all_there =
        all_there && std::all_of(hashes, hashes + count, [&](uint64_t hash) {
          return config_.kernel->test(view, hash);
        });
  });
  return all_there;
}

size_t FilterBuilder::ApproximateNumEntries(size_t bytes) {
  return FilterKeyCount(bytes, config_.bits_per_key);
}

size_t FilterBuilder::SpaceFor(size_t entries) const {
  TableFilterShape shape;
  shape.line_count = FilterLineCount(entries, config_.bits_per_key);
  return shape.bytes();
}

double FilterBuilder::FalsePositiveRate(size_t entries, size_t bytes) const {
  if (bytes < kFilterTrailerBytes + kFilterLineBytes) return entries > 0;
  return FilterFalsePositiveRate(
      static_cast<double>(entries),
      static_cast<double>((bytes - kFilterTrailerBytes) / kFilterLineBytes),
      config_.probes);
}

void FilterBuilder::Charge(size_t filter_bytes) {
  charge_.Set(hashes_.bytes() + filter_bytes);
}

void FilterBuilder::Start() {
  if (finished_) StartAnew();
  seed_ = config_.new_seed();
  hash_ = FilterHasher(seed_);
  started_ = true;
}

void FilterBuilder::StartAnew() {
  hashes_.Clear();
  last_key_.reset();
  last_prefix_.reset();
  finished_ = false;
  Charge(0);
}

}  // namespace rocksync
