#include "replication/store/open/options_file.h"

#include <string_view>

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

Status ReadOptionsFile(Env* env, const std::string& directory,
                       std::string* name, std::string* bytes) {
  const Status found = rocksdb::GetLatestOptionsFileName(directory, env, name);
  return found.ok()
             ? rocksdb::ReadFileToString(env, directory + "/" + *name, bytes)
             : found;
}

Status MergeOperatorName(Env* env, const std::string& directory,
                         const std::string& family, std::string* name) {
  name->clear();
  std::string file;
  std::string text;
  const Status read = ReadOptionsFile(env, directory, &file, &text);
  if (!read.ok()) return read;
  constexpr std::string_view kOption = "\n  merge_operator=";
  const size_t section = text.find("[CFOptions \"" + family + "\"]");
  const size_t end = text.find("\n[", section);  // of the section
  const size_t option = text.find(kOption, section);
  if (section == std::string::npos || option >= end) return read;
  const size_t value = option + kOption.size();
  *name = text.substr(value, text.find('\n', value) - value);
  if (*name == "nullptr") name->clear();
  return read;
}

}  // namespace rocksync
