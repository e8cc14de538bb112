#include "tests/integration/directories/opened.h"

#include <algorithm>

#include "replication/base/rocksdb_version.h"
#include "rocksync/replicated_db.h"

namespace rocksync::directories {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

std::vector<std::string> Paths::All() const {
  std::vector<std::string> all;
  if (!wal.empty()) all.push_back(wal);
  if (!tables.empty()) all.push_back(tables);
  for (const auto& [family, path] : families) {
    if (!path.empty()) all.push_back(path);
  }
  return all;
}

rocksdb::DBOptions OptionsOf(const Paths& paths) {
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.max_background_jobs = 2;
  options.keep_log_file_num = 1;
  options.wal_dir = paths.wal;
  if (!paths.tables.empty()) options.db_paths = {{paths.tables, 1 << 30}};
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> FamiliesOf(const Paths& paths) {
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const auto& [family, path] : paths.families) {
    rocksdb::ColumnFamilyOptions options;
    options.write_buffer_size = 1 << 20;
    if (!path.empty()) options.cf_paths = {{path, 1 << 30}};
    families.emplace_back(family, options);
  }
  return families;
}

Status Opened::Plain(const std::string& home, const Paths& paths) {
  return OpenPlain(OptionsOf(paths), home, FamiliesOf(paths), &handles_, &db_);
}

// With the index, whatever it is called.
Status Opened::ReadOnly(const std::string& home, const Paths& paths) {
  std::vector<std::string> names;
  Status status = rocksdb::DB::ListColumnFamilies({}, home, &names);
  if (!status.ok()) return status;
  Paths all = paths;
  for (const std::string& name : names) all.families.try_emplace(name);
  std::erase_if(all.families, [&](const auto& family) {
    return std::find(names.begin(), names.end(), family.first) == names.end();
  });
  return OpenPlainForReadOnly(OptionsOf(all), home, FamiliesOf(all), &handles_,
                              &db_);
}

Status Opened::Replica(const std::string& home, const Paths& paths,
                       bool copy_as_new, bool short_archive) {
  ReplicatedDBOptions replication;
  replication.cluster_secret.fill(7);
  replication.cluster_name = "test";
  replication.min_free_bytes = 0;
  replication.open_copy_as_new_replica = copy_as_new;
  rocksdb::DBOptions options = OptionsOf(paths);
  if (short_archive) options.WAL_ttl_seconds = 1;
  ReplicatedDB* opened = nullptr;
  const Status status = ReplicatedDB::Open(
      options, replication, home, FamiliesOf(paths), &handles_, &opened);
  db_.reset(opened);
  if (!status.ok()) handles_.clear();
  return status;
}

Status Opened::Close() {
  if (db_ == nullptr) return Status::OK();
  for (ColumnFamilyHandle* handle : handles_) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  handles_.clear();
  const Status status = db_->Close();
  db_.reset();
  return status;
}

ColumnFamilyHandle* Opened::Handle(const std::string& family) const {
  for (ColumnFamilyHandle* handle : handles_) {
    if (handle->GetName() == family) return handle;
  }
  return nullptr;
}

Status Opened::CreateFamily(const std::string& name, const std::string& path) {
  Paths one;
  one.families[name] = path;
  ColumnFamilyHandle* handle = nullptr;
  const Status status =
      db_->CreateColumnFamily(FamiliesOf(one).front().options, name, &handle);
  if (status.ok()) handles_.push_back(handle);
  return status;
}

Status Opened::Put(const std::string& family, const std::string& key,
                   const std::string& value) {
  ColumnFamilyHandle* const handle = Handle(family);
  return handle == nullptr ? Status::NotFound(family, "is not there")
                           : db_->Put({}, handle, key, value);
}

Status Opened::Read(const Paths& paths, Pairs* pairs) const {
  pairs->clear();
  for (const auto& [family, path] : paths.families) {
    ColumnFamilyHandle* const handle = Handle(family);
    if (handle == nullptr) return Status::NotFound(family, "is not there");
    std::map<std::string, std::string>& held = (*pairs)[family];
    const std::unique_ptr<rocksdb::Iterator> pair(
        db_->NewIterator(rocksdb::ReadOptions(), handle));
    for (pair->SeekToFirst(); pair->Valid(); pair->Next()) {
      held[pair->key().ToString()] = pair->value().ToString();
    }
    if (!pair->status().ok()) return pair->status();
  }
  return Status::OK();
}

Status DetachPlain(const std::string& home, const Paths& paths) {
  return ReplicatedDB::Detach(OptionsOf(paths), home, FamiliesOf(paths));
}

std::string Compare(const Pairs& expected, const Pairs& found) {
  std::string said;
  for (const auto& [family, pairs] : expected) {
    const auto other = found.find(family);
    if (other != found.end() && other->second == pairs) continue;
    const size_t held = other == found.end() ? 0 : other->second.size();
    said += " family " + family + " holds " + std::to_string(held) +
            " pairs instead of its " + std::to_string(pairs.size()) + " pairs";
    if (held != 0) said += ", from " + other->second.begin()->first + " on";
    said += ";";
  }
  return said;
}

}  // namespace rocksync::directories
