#include "replication/store/open/damaged_manifest.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string_view>

#include "replication/base/rocksdb_version.h"
#include "replication/store/format/current_manifest.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/open/all_families.h"
#include "replication/store/open/log_format.h"
#include "rocksdb/metadata.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Env;
using rocksdb::Status;

// Returns whether `block`, a file's last one, ends within a record.
bool EndsWithinRecord(std::string_view block) {
  bool more = false;
  while (!block.empty()) {
    if (block.size() < kRecordHeaderBytes) return true;
    const size_t length = RecordLength(block);
    const uint8_t type = RecordType(block);
    if (type == 0 && length == 0) return more;  // allocated, not written
    if (block.size() < kRecordHeaderBytes + length) return true;
    const RecordPart part = PartOf(type);
    more = part == RecordPart::kFirst || part == RecordPart::kMiddle;
    block.remove_prefix(kRecordHeaderBytes + length);
  }
  return more;
}

// Returns whether the index has the records that an opening writes in one
// batch. The format record tells: others are written again, and one alone may
// be in the log.
bool HasIndexRecords(rocksdb::DB* db,
                     const std::vector<ColumnFamilyHandle*>& handles) {
  for (ColumnFamilyHandle* handle : handles) {
    if (handle->GetName() != kIndexFamilyName) continue;
    std::string bytes;
    return !db->Get({}, handle, MetaKey(kFormatRecord), &bytes).IsNotFound();
  }
  return false;
}

// Returns a table in the directory that the database does not list, or nothing.
std::string UnlistedTable(rocksdb::DB* db) {
  std::vector<rocksdb::LiveFileMetaData> live;
  db->GetLiveFilesMetaData(&live);
  std::set<std::string> listed;
  for (const auto& file : live) {
    listed.insert(file.name.substr(file.name.find_first_not_of('/')));
  }
  std::vector<std::string> there;
  db->GetEnv()
      ->GetChildren(db->GetName(), &there)
      .PermitUncheckedError();  // then there are none to name
  const auto unlisted =
      std::find_if(there.begin(), there.end(), [&](const std::string& file) {
        return file.ends_with(".sst") && !listed.contains(file);
      });
  return unlisted == there.end() ? "" : *unlisted;
}

Status DoesNotList(Env* env, const std::string& name,
                   const std::string& table) {
  return DamagedManifest(name, ManifestFile(CurrentManifest(env, name)) +
                                   " does not list " + table +
                                   ", which is there and would be deleted");
}

}  // namespace

bool ManifestEndsWithinRecord(Env* env, const std::string& name) {
  const std::string path =
      name + "/" + ManifestFile(CurrentManifest(env, name));
  uint64_t size = 0;
  std::unique_ptr<rocksdb::RandomAccessFile> file;
  if (!env->GetFileSize(path, &size).ok() || size == 0 ||
      !env->NewRandomAccessFile(path, &file, rocksdb::EnvOptions()).ok()) {
    return false;
  }
  const uint64_t start = (size - 1) / kLogBlockBytes * kLogBlockBytes;
  std::string scratch(size - start, '\0');
  rocksdb::Slice block;
  return file->Read(start, scratch.size(), &block, scratch.data()).ok() &&
         EndsWithinRecord(block.ToStringView());
}

Status CheckManifest(const rocksdb::DBOptions& given, const std::string& name,
                     const std::vector<ColumnFamilyDescriptor>& families) {
  rocksdb::DBOptions options = given;
  options.allow_2pc = true;  // prepared transactions are refused elsewhere
  std::vector<ColumnFamilyDescriptor> all;
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  const bool cut = ManifestEndsWithinRecord(options.env, name);
  Status status = AllFamilies(options, name, families, {}, &all);
  if (status.ok()) {
    status = OpenPlainForReadOnly(options, name, all, &handles, &db);
  }
  if (status.IsCorruption()) return status;
  bool has_records = false;
  std::string unlisted;
  if (status.ok()) {
    has_records = HasIndexRecords(db.get(), handles);
    unlisted = UnlistedTable(db.get());
    for (ColumnFamilyHandle* handle : handles) {
      db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
  }
  if (has_records || (unlisted.empty() && !cut)) return Status::OK();
  if (!cut) return DoesNotList(options.env, name, unlisted);
  return DamagedManifest(name,
                         ManifestFile(CurrentManifest(options.env, name)) +
                             " ends within a record");
}

Status CheckRepaired(rocksdb::DB* db, const std::string& name) {
  if (!db->GetEnv()->FileExists(name + "/lost").ok()) return Status::OK();
  const std::string unlisted = UnlistedTable(db);
  return unlisted.empty() ? Status::OK()
                          : DoesNotList(db->GetEnv(), name, unlisted);
}

Status DamagedManifest(const std::string& name, const std::string& why) {
  return Status::Corruption(
      "rocksync: the MANIFEST of " + name +
          ", RocksDB's list of the files of a database, is damaged or missing",
      "replace the replica by a new, empty one that peers fill; or, if this "
      "one may hold something alone, `rocksync repair`, which makes a new list "
      "in a copy of the directory, and open that: " +
          why);
}

}  // namespace rocksync
