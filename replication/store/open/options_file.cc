#include "replication/store/open/options_file.h"

#include "replication/store/open/newer_rocksdb.h"
#include "rocksdb/convenience.h"
#include "rocksdb/utilities/options_util.h"

namespace rocksync {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::Env;
using rocksdb::Status;

Status LoadOptionsFile(Env* env, const std::string& directory,
                       rocksdb::DBOptions* options,
                       std::vector<ColumnFamilyDescriptor>* families) {
  std::string file;
  const Status found = rocksdb::GetLatestOptionsFileName(directory, env, &file);
  if (!found.ok()) {
    return found.IsNotFound() || found.IsPathNotFound()
               ? Status::NotFound(
                     "rocksync: " + directory + " has no OPTIONS file",
                     "what its bytes mean and where its log is, only the "
                     "program knows that uses it; open it by that once, or "
                     "use ReplicatedDB::Detach or Restamp with its options")
               : found;
  }
  rocksdb::ConfigOptions config;
  config.env = env;
  config.ignore_unknown_options = true;
  config.ignore_unsupported_options = true;
  const Status read = rocksdb::LoadOptionsFromFile(
      config, directory + "/" + file, options, families);
  if (!read.IsInvalidArgument() && !read.IsCorruption()) return read;
  const Status newer = NameNewerRocksDB(read, env, directory);
  if (newer.IsNotSupported()) return newer;
  return Status::Corruption(
      "rocksync: " + directory + "/" + file + " is damaged",
      "open the database once by the program that uses it, which writes a new "
      "one: " +
          read.ToString());
}

}  // namespace rocksync
