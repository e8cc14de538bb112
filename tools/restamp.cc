#include "tools/restamp.h"

#include <ostream>
#include <vector>

#include "rocksdb/convenience.h"
#include "rocksdb/utilities/options_util.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

int RunRestamp(const RestampToolOptions& options, std::ostream& out,
               std::ostream& err) {
  ReplicatedDBOptions replication;
  replication.cluster_name = options.credentials.cluster;
  replication.max_clock_ahead_ms = options.max_ahead_ms;
  rocksdb::Status status =
      ReadClusterSecret(options.credentials, &replication.cluster_secret);
  RestampResult result;
  if (status.ok()) {
    rocksdb::DBOptions last;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    rocksdb::ConfigOptions lenient;
    lenient.ignore_unknown_options = true;
    lenient.ignore_unsupported_options = true;
    // Without an OPTIONS file the defaults have to do.
    rocksdb::LoadLatestOptions(lenient, options.directory, &last, &families)
        .PermitUncheckedError();
    status = ReplicatedDB::Restamp(rocksdb::DBOptions(), replication,
                                   options.directory, families, &result);
  }
  if (!status.ok()) {
    err << "rocksync restamp " << options.directory << ": " << status.ToString()
        << "\n";
    return 2;
  }
  out << result.restamped << " of " << result.entries_read
      << " pairs and tombstones restamped";
  if (result.furthest_ahead_ms > 0) {
    out << ", the furthest was " << result.furthest_ahead_ms / 1000
        << " s ahead";
  }
  if (result.damaged > 0) {
    out << "; " << result.damaged << " do not match their index entries and"
        << " were left";
  }
  out << "\n";
  return 0;
}

}  // namespace rocksync
