#include "tests/integration/store/index_equals_data.h"

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "replication/base/rocksdb_version.h"
#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "rocksdb/db.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

std::string_view View(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

struct PlainDatabase {
  std::unique_ptr<rocksdb::DB> db;
  std::map<uint32_t, rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::ColumnFamilyHandle* index = nullptr;

  ~PlainDatabase() {
    for (auto& [id, handle] : handles) db->DestroyColumnFamilyHandle(handle);
  }

  rocksdb::Status Open(const std::string& directory) {
    std::vector<std::string> names;
    rocksdb::Status status =
        rocksdb::DB::ListColumnFamilies({}, directory, &names);
    if (!status.ok()) return status;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : names) families.push_back({name, {}});
    std::vector<rocksdb::ColumnFamilyHandle*> opened;
    status = OpenPlainForReadOnly({}, directory, families, &opened, &db);
    for (rocksdb::ColumnFamilyHandle* handle : opened) {
      handles[handle->GetID()] = handle;
      if (handle->GetName() == kIndexFamilyName) index = handle;
    }
    return status;
  }

  bool Record(std::string_view name, std::string* bytes) {
    return db->Get({}, index, MetaKey(name), bytes).ok();
  }
};

}  // namespace

AssertionResult IndexEqualsData(const std::string& directory,
                                const ClusterSecret& secret,
                                ScanResult* result) {
  ScanResult scratch;
  if (result == nullptr) result = &scratch;
  *result = {};
  PlainDatabase plain;
  const rocksdb::Status opened = plain.Open(directory);
  if (!opened.ok()) return AssertionFailure() << opened.ToString();
  if (plain.index == nullptr) return AssertionFailure() << "no index";
  std::string bytes;
  IdentityRecord identity;
  std::vector<FamilyRecord> families;
  if (!plain.Record(kIdentityRecord, &bytes) || !Decode(bytes, &identity) ||
      !plain.Record(kFamiliesRecord, &bytes) || !Decode(bytes, &families)) {
    return AssertionFailure() << "meta records are missing";
  }
  std::map<uint32_t, std::string> names;
  for (const FamilyRecord& family : families) names[family.id] = family.name;

  const ElementHasher hasher(secret);
  uint64_t live = 0;
  std::unique_ptr<rocksdb::Iterator> entries(
      plain.db->NewIterator({}, plain.index));
  for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
    IndexKey key;
    if (!ParseIndexKey(View(entries->key()), &key)) {
      if (entries->key().starts_with(std::string(8, '\0'))) continue;
      return AssertionFailure() << "bad key " << entries->key().ToString(true);
    }
    if (names.count(key.family_id) == 0) continue;  // awaits its purge
    const std::string& family = names[key.family_id];
    StoredEntry entry;
    if (!ParseEntry(View(entries->value()), identity.home_id, &entry)) {
      return AssertionFailure() << "bad entry of " << key.key;
    }
    if (hasher.Position(family, key.key) != key.position) {
      return AssertionFailure() << "misplaced entry of " << key.key;
    }
    if (entry.pending) ++result->pending;
    if (entry.quarantined) {
      ++result->quarantined;
      continue;
    }
    const ElementHash hash = CompleteHash(hasher, family, key.key, entry);
    result->digest.Add(hash);
    std::string value;
    const rocksdb::Status found =
        plain.db->Get({}, plain.handles[key.family_id],
                      rocksdb::Slice(key.key.data(), key.key.size()), &value);
    if (entry.tombstone) {
      ++result->tombstones;
      if (!found.IsNotFound()) {
        return AssertionFailure() << "tombstone of a live key " << key.key;
      }
      continue;
    }
    ++live;
    if (!found.ok()) {
      return AssertionFailure() << "entry without its pair: " << key.key;
    }
    if (hasher.HashPair(family, key.key, entry.version,
                        hasher.HashValue(entry.version, value)) != hash) {
      return AssertionFailure() << "entry of another value: " << key.key;
    }
  }
  if (!entries->status().ok()) {
    return AssertionFailure() << entries->status().ToString();
  }
  for (const FamilyRecord& family : families) {
    std::unique_ptr<rocksdb::Iterator> pairs(
        plain.db->NewIterator({}, plain.handles[family.id]));
    for (pairs->SeekToFirst(); pairs->Valid(); pairs->Next()) ++result->pairs;
  }
  // Every live entry has its pair, so equal numbers leave no pair without one.
  if (live + result->quarantined < result->pairs ||
      (result->quarantined == 0 && live != result->pairs)) {
    return AssertionFailure()
           << result->pairs << " pairs, " << live << " live entries";
  }
  return AssertionSuccess();
}

}  // namespace rocksync
