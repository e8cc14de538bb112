#include "tools/detach.h"

#include <ostream>
#include <vector>

#include "rocksdb/convenience.h"
#include "rocksdb/utilities/options_util.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

int RunDetach(const std::string& directory, std::ostream& out,
              std::ostream& err) {
  rocksdb::DBOptions options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  rocksdb::ConfigOptions lenient;
  lenient.ignore_unknown_options = true;
  lenient.ignore_unsupported_options = true;
  // Without an OPTIONS file the defaults have to do.
  rocksdb::LoadLatestOptions(lenient, directory, &options, &families)
      .PermitUncheckedError();
  const rocksdb::Status status =
      ReplicatedDB::Detach(rocksdb::DBOptions(), directory, families);
  if (!status.ok()) {
    err << "rocksync detach " << directory << ": " << status.ToString() << '\n';
    return 2;
  }
  out << directory << " is a plain database now\n";
  return 0;
}

}  // namespace rocksync
