#include "replication/store/index/hash_completion.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"

namespace rocksync {

struct CompletedFamilies {
  std::vector<std::string> names;  // by id; empty: not replicated
  uint64_t home = 0;
};

namespace {

class HashCompletion final : public rocksdb::CompactionFilter {
 public:
  // `hasher` is the factory's; RocksDB keeps the factory as long as it flushes.
  HashCompletion(const ElementHasher* hasher,
                 std::shared_ptr<const CompletedFamilies> families)
      : hasher_(hasher), families_(std::move(families)) {}

  const char* Name() const override { return "rocksync.HashCompletion"; }

  Decision FilterV2(int, const rocksdb::Slice& key, ValueType type,
                    const rocksdb::Slice& value, std::string* completed,
                    std::string*) const override {
    IndexKey index_key;
    StoredEntry entry;
    if (type != ValueType::kValue ||
        !ParseIndexKey({key.data(), key.size()}, &index_key) ||
        !ParseEntry({value.data(), value.size()}, families_->home, &entry) ||
        !entry.pending) {
      return Decision::kKeep;
    }
    const std::vector<std::string>& names = families_->names;
    if (index_key.family_id >= names.size()) return Decision::kKeep;
    const std::string& family = names[index_key.family_id];
    if (family.empty()) return Decision::kKeep;
    const ElementHash hash =
        CompleteHash(*hasher_, family, index_key.key, entry);
    entry.pending = false;
    entry.hash_high = hash.high;
    entry.hash_low = hash.low;
    completed->clear();
    AppendEntry(completed, entry, families_->home);
    return Decision::kChangeValue;
  }

 private:
  const ElementHasher* const hasher_;
  const std::shared_ptr<const CompletedFamilies> families_;
};

}  // namespace

void HashCompletionFactory::Start(const FamilyTable& families, uint64_t home) {
  auto known = std::make_shared<CompletedFamilies>();
  known->home = home;
  for (const Family& family : families.families()) {
    if (family.id >= known->names.size()) known->names.resize(family.id + 1);
    known->names[family.id] = family.name;
  }
  const std::lock_guard lock(mutex_);
  families_ = std::move(known);
}

std::unique_ptr<rocksdb::CompactionFilter>
HashCompletionFactory::CreateCompactionFilter(
    const rocksdb::CompactionFilter::Context& context) {
  if (context.reason != rocksdb::TableFileCreationReason::kFlush) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  if (families_ == nullptr) return nullptr;
  return std::make_unique<HashCompletion>(&hasher_, families_);
}

}  // namespace rocksync
