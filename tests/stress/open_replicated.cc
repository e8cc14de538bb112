#include "tests/stress/open_replicated.h"

#include <algorithm>
#include <filesystem>

#include "rocksync/replicated_db.h"

namespace rocksync::stress {

ReplicatedDBOptions ReplicationOptions(
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
  ReplicatedDBOptions options;
  options.cluster_name = "stress";
  options.cluster_secret.fill(7);
  for (const rocksdb::ColumnFamilyDescriptor& family : families) {
    if (family.options.merge_operator != nullptr) {
      options.merge_families.push_back(family.name);
    }
  }
  return options;
}

rocksdb::Status Open(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    std::vector<rocksdb::ColumnFamilyHandle*>* handles, rocksdb::DB** db) {
  ReplicatedDBOptions replication = ReplicationOptions(families);
  const std::string last = std::filesystem::path(name).filename().string();
  replication.open_copy_as_new_replica = last.rfind(".restore", 0) == 0;
  ReplicatedDB* opened = nullptr;
  const rocksdb::Status status = ReplicatedDB::Open(options, replication, name,
                                                    families, handles, &opened);
  *db = opened;
  return status;
}

rocksdb::Status Open(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    std::vector<rocksdb::ColumnFamilyHandle*>* handles,
    std::unique_ptr<rocksdb::DB>* db) {
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status =
      Open(options, name, families, handles, &opened);
  db->reset(opened);
  return status;
}

rocksdb::Status ListColumnFamilies(const rocksdb::DBOptions& options,
                                   const std::string& name,
                                   std::vector<std::string>* families) {
  const rocksdb::Status status =
      rocksdb::DB::ListColumnFamilies(options, name, families);
  families->erase(
      std::remove(families->begin(), families->end(), kIndexFamilyName),
      families->end());
  return status;
}

}  // namespace rocksync::stress
