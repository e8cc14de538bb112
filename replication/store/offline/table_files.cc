#include "replication/store/offline/table_files.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "replication/text/escape_text.h"
#include "rocksdb/comparator.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/table_properties.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::Env;
using rocksdb::Status;
using Properties = std::shared_ptr<const rocksdb::TableProperties>;

// Returns the properties of a table; null if it does not read.
Properties PropertiesOf(Env* env, const std::string& table) {
  rocksdb::Options options;
  options.env = env;
  rocksdb::SstFileReader reader(options);
  return reader.Open(table).ok() ? reader.GetTableProperties() : nullptr;
}

// Checks the table's comparator. RepairDB takes tables as they are: with the
// wrong order of keys it would succeed.
Status CheckComparator(const std::string& directory,
                       const rocksdb::TableProperties& properties,
                       const std::vector<ColumnFamilyDescriptor>& families) {
  const auto family =
      std::find_if(families.begin(), families.end(),
                   [&](const ColumnFamilyDescriptor& known) {
                     return known.name == properties.column_family_name;
                   });
  if (family == families.end() ||
      properties.comparator_name == family->options.comparator->Name()) {
    return Status::OK();
  }
  return Status::NotSupported(
      "rocksync: the column family '" + family->name + "' of " + directory +
          " is ordered by the comparator " + properties.comparator_name +
          ", which RocksDB cannot make by its name",
      kRepairByItsProgram);
}

// Hashes what tells most tables of one shape apart, of which there may be
// thousands.
uint64_t HashOfBeginning(Env* env, const std::string& table, uint64_t bytes) {
  constexpr uint64_t kBeginning = 1 << 16;
  std::string scratch(std::min(bytes, kBeginning), '\0');
  std::unique_ptr<rocksdb::SequentialFile> file;
  rocksdb::Slice read;
  if (!env->NewSequentialFile(table, &file, rocksdb::EnvOptions()).ok() ||
      !file->Read(scratch.size(), &read, scratch.data()).ok()) {
    return 0;
  }
  return std::hash<std::string_view>()({read.data(), read.size()});
}

// Compares the blocks of data with which two tables begin. They are the same if
// the content is; what follows has the time when each was made.
bool SameData(Env* env, const std::string& left, const std::string& right,
              uint64_t bytes) {
  std::unique_ptr<rocksdb::SequentialFile> files[2];
  const rocksdb::EnvOptions options;
  if (!env->NewSequentialFile(left, &files[0], options).ok() ||
      !env->NewSequentialFile(right, &files[1], options).ok()) {
    return false;
  }
  const uint64_t block = std::min(bytes, uint64_t{1} << 20);
  std::string scratch[2] = {std::string(block, '\0'), std::string(block, '\0')};
  while (bytes > 0) {
    const size_t wanted = std::min(bytes, block);
    rocksdb::Slice read[2];
    for (int i = 0; i < 2; ++i) {
      if (!files[i]->Read(wanted, &read[i], scratch[i].data()).ok() ||
          read[i].size() != wanted) {
        return false;
      }
    }
    if (read[0] != read[1]) return false;
    bytes -= wanted;
  }
  return true;
}

}  // namespace

Status TablesToKeep(Env* env, const std::string& directory,
                    const std::vector<std::string>& names,
                    const std::vector<ColumnFamilyDescriptor>& families,
                    std::vector<std::string>* tables) {
  using Shape = std::array<uint64_t, 6>;
  std::map<Shape, std::vector<std::string>> kept;
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  for (const std::string& name : sorted) {
    if (!name.ends_with(".sst")) continue;
    const std::string table = directory + "/" + name;
    const Properties properties = PropertiesOf(env, table);
    if (properties == nullptr) {
      tables->push_back(name);  // RepairDB reports it
      continue;
    }
    const Status status = CheckComparator(directory, *properties, families);
    if (!status.ok()) return status;
    std::vector<std::string>* const alike =
        &kept[{properties->column_family_id, properties->num_entries,
               properties->raw_key_size, properties->raw_value_size,
               properties->data_size,
               HashOfBeginning(env, table, properties->data_size)}];
    const bool there = std::any_of(
        alike->begin(), alike->end(), [&](const std::string& other) {
          return SameData(env, directory + "/" + other, table,
                          properties->data_size);
        });
    if (there) continue;
    alike->push_back(name);
    tables->push_back(name);
  }
  return Status::OK();
}

std::string DescribeTable(Env* env, const std::string& table) {
  const Properties properties = PropertiesOf(env, table);
  if (properties == nullptr) return {};
  const std::string& family = properties->column_family_name;
  return std::to_string(properties->num_entries) +
         (properties->num_entries == 1 ? " entry" : " entries") +
         (family.empty()
              ? " of a column family that it does not name"
              : " of the column family '" + EscapeText(family) + "'");
}

}  // namespace rocksync
