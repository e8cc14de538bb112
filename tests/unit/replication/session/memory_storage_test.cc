// The storage in memory keeps the contract too.

#include "tests/simulation/memory_storage.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tests/unit/replication/session/storage_view_contract.h"

namespace rocksync {
namespace {

class MemoryFixture {
 public:
  StorageView* view() { return &storage_; }
  Version Put(const std::string& key, const std::string& value) {
    return storage_.Put(0, key, value);
  }
  Version Delete(const std::string& key) { return storage_.Delete(0, key); }
  std::optional<std::string> Get(const std::string& key) {
    return storage_.Get(0, key);
  }
  void CrashAndReopen() { storage_.Crash(); }

 private:
  const ElementHasher hasher_{ClusterSecret{1}};
  MemoryStorage storage_{&hasher_, {}};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StorageViewContract, MemoryFixture);

}  // namespace
}  // namespace rocksync
