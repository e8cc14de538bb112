#include "replication/store/hash_completion.h"

#include <string>
#include <string_view>

#include "replication/store/index_entry.h"
#include "replication/store/index_key.h"

namespace rocksync {
namespace {

class HashCompletion final : public rocksdb::CompactionFilter {
 public:
  HashCompletion(const ElementHasher* hasher, const FamilyTable* families,
                 uint64_t home)
      : hasher_(hasher), families_(families), home_(home) {}

  const char* Name() const override { return "rocksync.HashCompletion"; }

  Decision FilterV2(int, const rocksdb::Slice& key, ValueType type,
                    const rocksdb::Slice& value, std::string* completed,
                    std::string*) const override {
    IndexKey index_key;
    StoredEntry entry;
    if (type != ValueType::kValue ||
        !ParseIndexKey({key.data(), key.size()}, &index_key) ||
        !ParseEntry({value.data(), value.size()}, home_, &entry) ||
        !entry.pending) {
      return Decision::kKeep;
    }
    const Family* family = families_->Find(index_key.family_id);
    if (family == nullptr) return Decision::kKeep;
    const ElementHash hash =
        CompleteHash(*hasher_, family->name, index_key.key, entry);
    entry.pending = false;
    entry.hash_high = hash.high;
    entry.hash_low = hash.low;
    completed->clear();
    AppendEntry(completed, entry, home_);
    return Decision::kChangeValue;
  }

 private:
  const ElementHasher* const hasher_;
  const FamilyTable* const families_;
  const uint64_t home_;
};

}  // namespace

std::unique_ptr<rocksdb::CompactionFilter>
HashCompletionFactory::CreateCompactionFilter(
    const rocksdb::CompactionFilter::Context& context) {
  const FamilyTable* families = families_.load(std::memory_order_acquire);
  if (families == nullptr ||
      context.reason != rocksdb::TableFileCreationReason::kFlush) {
    return nullptr;
  }
  return std::make_unique<HashCompletion>(
      hasher_, families, home_.load(std::memory_order_relaxed));
}

}  // namespace rocksync
