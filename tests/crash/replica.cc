#include "tests/crash/replica.h"

#include <utility>

#include "tests/crash/operation.h"

namespace rocksync::crash {

ReplicatedDBOptions ReplicationOptions() {
  ReplicatedDBOptions options;
  options.cluster_name = "crash";
  options.cluster_secret.fill(7);
  options.index_write_buffer_bytes = size_t{128} << 10;
  return options;
}

rocksdb::DBOptions DatabaseOptions() {
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.max_background_jobs = 4;
  options.keep_log_file_num = 2;
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> Families() {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = size_t{256} << 10;
  options.max_write_buffer_number = 4;
  options.target_file_size_base = size_t{256} << 10;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const char* name : kFamilyNames) families.emplace_back(name, options);
  return families;
}

rocksdb::Status Replica::Open(const std::string& directory, bool as_copy,
                              rocksdb::Env* env,
                              std::unique_ptr<Replica>* replica,
                              std::shared_ptr<ApplyHook> hook) {
  rocksdb::DBOptions options = DatabaseOptions();
  if (env != nullptr) options.env = env;
  ReplicatedDBOptions replication = ReplicationOptions();
  replication.open_copy_as_new_replica = as_copy;
  replication.hook = std::move(hook);
  replica->reset(new Replica);
  ReplicatedDB* db = nullptr;
  const rocksdb::Status status = ReplicatedDB::Open(
      options, replication, directory, Families(), &(*replica)->families_, &db);
  (*replica)->db_.reset(db);
  if (!status.ok()) replica->reset();
  return status;
}

rocksdb::Status Replica::Close() {
  for (rocksdb::ColumnFamilyHandle* family : families_) {
    db_->DestroyColumnFamilyHandle(family).PermitUncheckedError();
  }
  families_.clear();
  const rocksdb::Status status = db_->Close();
  db_.reset();
  return status;
}

Replica::~Replica() {
  if (db_ != nullptr) Close().PermitUncheckedError();
}

}  // namespace rocksync::crash
