#include "plugin/construction_charge.h"

#include "rocksdb/cache.h"
#include "rocksdb/write_buffer_manager.h"

namespace rocksync {
namespace {

// Since 7.3 cache_usage_options says by role what to charge.
template <class Options>
auto WantsCharge(const Options& options, int)
    -> decltype(options.cache_usage_options, bool()) {
  using Decision = decltype(options.cache_usage_options.options.charged);
  const auto& overrides = options.cache_usage_options.options_overrides;
  const auto found =
      overrides.find(rocksdb::CacheEntryRole::kFilterConstruction);
  const Decision decision = found == overrides.end()
                                ? options.cache_usage_options.options.charged
                                : found->second.charged;
  return decision == Decision::kEnabled;
}

// Before 7.3 there was one switch for all memory of table builders.
template <class Options>
auto WantsCharge(const Options& options, long)
    -> decltype(options.reserve_table_builder_memory, bool()) {
  return options.reserve_table_builder_memory;
}

}  // namespace

ConstructionCharge::ConstructionCharge(
    const rocksdb::BlockBasedTableOptions& options) {
  if (options.block_cache != nullptr && WantsCharge(options, 0)) {
    reservation_ = std::make_unique<rocksdb::WriteBufferManager>(
        /*buffer_size=*/0, options.block_cache);
  }
}

ConstructionCharge::~ConstructionCharge() { Set(0); }

void ConstructionCharge::Set(size_t bytes) {
  if (reservation_ == nullptr || bytes == charged_) return;
  if (bytes > charged_) {
    reservation_->ReserveMem(bytes - charged_);
  } else {
    reservation_->FreeMem(charged_ - bytes);
  }
  charged_ = bytes;
}

}  // namespace rocksync
