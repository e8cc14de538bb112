#include "tests/bench/db_bench/two_families_db.h"

#include <xxhash.h>

#include <vector>

#include "replication/base/rocksdb_version.h"
#include "tests/support/open_plain.h"

namespace rocksync::db_bench {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

class EntryMaker final : public BatchHandler {
 public:
  EntryMaker(rocksdb::ColumnFamilyHandle* entries,
             rocksdb::WriteBatch* with_entries)
      : entries_(entries), batch_(with_entries) {}

  Status PutCF(uint32_t, const Slice& key, const Slice&) override {
    return Enter(key);
  }
  Status DeleteCF(uint32_t, const Slice& key) override { return Enter(key); }
  Status OtherPutCF(uint32_t, const char* call) override {
    return Status::NotSupported(call);
  }

 private:
  Status Enter(const Slice& key) {
    const XXH64_hash_t position = XXH3_64bits(key.data(), key.size());
    XXH64_canonical_t canonical;
    XXH64_canonicalFromHash(&canonical, position);
    char family = 0;
    const Slice parts[] = {{reinterpret_cast<const char*>(canonical.digest), 8},
                           {&family, 1},
                           key};
    static constexpr char kValue[25] = {};
    const Slice value(kValue, sizeof(kValue));
    return batch_->Put(entries_, rocksdb::SliceParts(parts, 3),
                       rocksdb::SliceParts(&value, 1));
  }

  rocksdb::ColumnFamilyHandle* const entries_;
  rocksdb::WriteBatch* const batch_;
};

}  // namespace

Status TwoFamiliesDB::Open(const rocksdb::Options& options,
                           const std::string& name, rocksdb::DB** db) {
  rocksdb::DBOptions all = options;
  all.create_missing_column_families = true;
  // As the index has it: hashes do not compress, and are written at random.
  rocksdb::ColumnFamilyOptions entries;
  entries.compression = rocksdb::kNoCompression;
  entries.compaction_style = rocksdb::kCompactionStyleUniversal;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  Status status = OpenPlain(
      all, name,
      {{rocksdb::kDefaultColumnFamilyName, options}, {"entries", entries}},
      &handles, &opened);
  if (!status.ok()) return status;
  status = opened->DestroyColumnFamilyHandle(handles[0]);
  *db = new TwoFamiliesDB(opened, handles[1]);
  return status;
}

TwoFamiliesDB::TwoFamiliesDB(rocksdb::DB* db,
                             rocksdb::ColumnFamilyHandle* entries)
    : StackableDB(db), entries_(entries) {}

TwoFamiliesDB::~TwoFamiliesDB() {
  db_->DestroyColumnFamilyHandle(entries_).PermitUncheckedError();
}

Status TwoFamiliesDB::Put(const rocksdb::WriteOptions& options,
                          rocksdb::ColumnFamilyHandle* family, const Slice& key,
                          const Slice& value) {
  rocksdb::WriteBatch batch;
  const Status status = batch.Put(family, key, value);
  return status.ok() ? Write(options, &batch) : status;
}

Status TwoFamiliesDB::Delete(const rocksdb::WriteOptions& options,
                             rocksdb::ColumnFamilyHandle* family,
                             const Slice& key) {
  rocksdb::WriteBatch batch;
  const Status status = batch.Delete(family, key);
  return status.ok() ? Write(options, &batch) : status;
}

// The caller's batch is left as it is, as by ReplicatedDB.
Status TwoFamiliesDB::Write(const rocksdb::WriteOptions& options,
                            rocksdb::WriteBatch* updates) {
  rocksdb::WriteBatch with_entries(updates->Data());
  EntryMaker maker(entries_, &with_entries);
  const Status status = updates->Iterate(&maker);
  return status.ok() ? db_->Write(options, &with_entries) : status;
}

}  // namespace rocksync::db_bench
