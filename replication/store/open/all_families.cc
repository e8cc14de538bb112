#include "replication/store/open/all_families.h"

#include <algorithm>

#include "replication/store/format/rocksdb_version.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

using rocksdb::ColumnFamilyDescriptor;

rocksdb::Status AllFamilies(const rocksdb::DBOptions& options,
                            const std::string& name,
                            const std::vector<ColumnFamilyDescriptor>& given,
                            const rocksdb::ColumnFamilyOptions& index_options,
                            std::vector<ColumnFamilyDescriptor>* all) {
  std::vector<std::string> names;
  const rocksdb::Status status =
      rocksdb::DB::ListColumnFamilies(options, name, &names);
  for (const std::string& family : names) {
    const auto known = std::find_if(
        given.begin(), given.end(),
        [&](const ColumnFamilyDescriptor& d) { return d.name == family; });
    if (family == kIndexFamilyName) {
      all->emplace_back(family, index_options);
    } else if (known != given.end()) {
      all->push_back(*known);
    } else {
      all->emplace_back(family, rocksdb::ColumnFamilyOptions());
    }
    all->back().options.disable_auto_compactions = true;
  }
  return status;
}

rocksdb::Status OpenExisting(
    rocksdb::DBOptions options, const std::string& name,
    const std::vector<ColumnFamilyDescriptor>& families,
    std::vector<rocksdb::ColumnFamilyHandle*>* handles,
    std::unique_ptr<rocksdb::DB>* db) {
  options.create_if_missing = false;
  return OpenPlain(options, name, families, handles, db);
}

}  // namespace rocksync
