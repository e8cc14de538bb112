#include "replication/store/open/salvage_log.h"

#include <memory>

#include "replication/base/rocksdb_version.h"
#include "replication/store/index/index_options.h"
#include "replication/store/open/all_families.h"
#include "replication/store/open/files_left.h"
#include "replication/store/open/kept_options_file.h"

namespace rocksync {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

Status SalvageLog(const rocksdb::DBOptions& given,
                  const ReplicatedDBOptions& replication,
                  const std::string& name,
                  const std::vector<ColumnFamilyDescriptor>& families) {
  rocksdb::DBOptions options = given;
  options.create_if_missing = false;
  options.create_missing_column_families = false;
  options.error_if_exists = false;
  options.avoid_flush_during_recovery = false;
  options.wal_recovery_mode = kSalvageRecovery;
  // In that mode RocksDB cannot tell old records in a recycled file.
  options.recycle_log_file_num = 0;
  std::vector<ColumnFamilyDescriptor> all;
  Status status = AllFamilies(
      options, name, families,
      IndexFamilyOptions(
          replication,
          NewIndexMemtable(replication, options.write_buffer_manager), nullptr),
      &all);
  KeptOptionsFile options_file(options.env, name);
  if (status.ok()) status = options_file.Read();
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  if (status.ok()) status = OpenPlain(options, name, all, &handles, &db);
  if (!status.ok()) return status;
  // The application's options stay, even if a kill precedes its own opening.
  status = options_file.PutBack();
  for (ColumnFamilyHandle* handle : handles) {
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  const Status closed = db->Close();
  return status.ok() ? closed : status;
}

}  // namespace rocksync
