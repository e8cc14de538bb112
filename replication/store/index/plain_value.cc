#include "replication/store/index/plain_value.h"

#include "replication/base/hex.h"
#include "replication/base/rocksdb_version.h"

namespace rocksync {

using rocksdb::Slice;
using rocksdb::Status;

Status EntityError(const Family& family, std::string_view key) {
  constexpr size_t kShown = 32;
  std::string what = "rocksync: key " + HexOf(key.substr(0, kShown));
  if (key.size() > kShown) what += "...";
  what += " of family " + family.name.substr(0, 40) +
          " is a wide-column entity (PutEntity), which is not replicated";
  return Status::NotSupported(
      what,
      "write the columns as one value with Put, or leave the family out of "
      "ReplicatedDBOptions::families");
}

Status GetPlain(rocksdb::DB* db, const rocksdb::ReadOptions& options,
                const Family& family, std::string_view key, std::string* value,
                bool* entity) {
  const Slice name(key.data(), key.size());
  value->clear();
  *entity = false;
  Status status = db->Get(options, family.handle(), name, value);
  if (!status.ok()) return status;
  // Read only for the names of the columns: for a value in a blob file
  // GetEntity of RocksDB 7.8 returns the blob reference.
  rocksdb::PinnableWideColumns read;
  status = GetColumns(db, options, family, key, &read);
  if (status.IsMergeInProgress()) return Status::OK();
  *entity = status.ok() && !IsPlain(read.columns());
  if (*entity) value->clear();
  return status;
}

Status GetPlain(rocksdb::DB* db, const rocksdb::ReadOptions& options,
                const Family& family, std::string_view key,
                std::string* value) {
  bool entity = false;
  const Status status = GetPlain(db, options, family, key, value, &entity);
  return status.ok() && entity ? EntityError(family, key) : status;
}

Status GetColumns(rocksdb::DB* db, const rocksdb::ReadOptions& options,
                  const Family& family, std::string_view key,
                  rocksdb::PinnableWideColumns* columns) {
  const Slice name(key.data(), key.size());
  Status status;
  if (family.shared->merges) {
    status = MayBeEntity(db, options, family.handle(), name);
  }
  return status.ok() ? db->GetEntity(options, family.handle(), name, columns)
                     : status;
}

}  // namespace rocksync
