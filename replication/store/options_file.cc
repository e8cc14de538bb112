#include "rocksync/options_file.h"

#include <algorithm>
#include <cstddef>

#include "rocksdb/utilities/options_util.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::Status;

std::vector<ColumnFamilyDescriptor>::iterator FindIndex(
    std::vector<ColumnFamilyDescriptor>* families) {
  return std::find_if(families->begin(), families->end(),
                      [](const ColumnFamilyDescriptor& family) {
                        return family.name == kIndexFamilyName;
                      });
}

}  // namespace

Status LoadReplicatedOptions(const rocksdb::ConfigOptions& config,
                             const std::string& name,
                             rocksdb::DBOptions* options,
                             std::vector<ColumnFamilyDescriptor>* families) {
  const Status status =
      rocksdb::LoadLatestOptions(config, name, options, families);
  const auto index = FindIndex(families);
  if (index != families->end()) families->erase(index);
  return status;
}

Status CheckReplicatedOptions(
    const rocksdb::ConfigOptions& config, const std::string& name,
    const rocksdb::DBOptions& options,
    const std::vector<ColumnFamilyDescriptor>& families) {
  rocksdb::DBOptions stored_options;
  std::vector<ColumnFamilyDescriptor> stored;
  const Status status =
      rocksdb::LoadLatestOptions(config, name, &stored_options, &stored);
  if (!status.ok()) return status;
  std::vector<ColumnFamilyDescriptor> all = families;
  const auto index = FindIndex(&stored);
  if (index != stored.end()) {
    // The index goes to its place: RocksDB compares family by family.
    const size_t place = std::min<size_t>(index - stored.begin(), all.size());
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(place), *index);
  }
  return rocksdb::CheckOptionsCompatibility(config, name, options, all);
}

}  // namespace rocksync
