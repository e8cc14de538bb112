// Whether versions and commits have one order, by what the log says.

#ifndef ROCKSYNC_TESTS_INTEGRATION_STORE_VERSION_ORDER_H_
#define ROCKSYNC_TESTS_INTEGRATION_STORE_VERSION_ORDER_H_

#include <cstdint>
#include <map>
#include <string>

#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"
#include "tests/integration/store/read_log.h"

namespace rocksync {

// Reads the WAL and checks that for each key the order of versions is the
// order of commits.
class VersionOrder final : public rocksdb::WriteBatch::Handler {
 public:
  VersionOrder(uint32_t index_id, uint64_t home)
      : index_id_(index_id), home_(home) {}

  // All that the log holds.
  rocksdb::Status Read(rocksdb::DB* db) { return ReadLog(db, 0, this); }

  rocksdb::Status PutCF(uint32_t id, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    IndexKey index_key;
    StoredEntry entry;
    if (id == index_id_ &&
        ParseIndexKey({key.data(), key.size()}, &index_key) &&
        ParseEntry({value.data(), value.size()}, home_, &entry)) {
      Version& last = last_[key.ToString()];
      // Equal ones: two values of one version, as no real replica issues.
      if (entry.version < last) ++violations;
      last = entry.version;
      ++entries;
    }
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t, const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }

  uint64_t violations = 0;
  uint64_t entries = 0;

 private:
  const uint32_t index_id_;
  const uint64_t home_;
  std::map<std::string, Version> last_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_STORE_VERSION_ORDER_H_
