#include "tools/repair.h"

#include <ostream>
#include <string>
#include <vector>

#include "replication/metrics/json.h"
#include "replication/store/format/index_key.h"
#include "replication/store/offline/repair.h"
#include "rocksdb/env.h"
#include "rocksync/replicated_db.h"
#include "tools/offline_db.h"
#include "tools/with_noun.h"

namespace rocksync {
namespace {

constexpr char kOpenAsNew[] =
    "open it once with the option open_copy_as_new_replica (rocksync-store: "
    "--as-new-replica): it becomes a new replica, with an id and so a "
    "certificate of its own, and all of it is compared with its index";
constexpr char kOpenAsNewAndAdopt[] =
    "open it once with both options open_copy_as_new_replica and "
    "adopt_after_index_loss (rocksync-store: --as-new-replica "
    "--adopt-after-index-loss): it becomes a new replica, with an id and so a "
    "certificate of its own, and pairs without an entry lose to any that a "
    "peer has";
constexpr char kAdopt[] =
    "its index is lost: open it once with the option adopt_after_index_loss "
    "(rocksync-store: --adopt-after-index-loss): it becomes a new replica, "
    "with an id and so a certificate of its own, whose pairs lose to any that "
    "a peer has";
constexpr char kElsewhere[] =
    "if its tables are in db_paths or cf_paths, copy them into the directory, "
    "and repair again (with Debian's RocksDB, which has assertions, that ends "
    "at one, and nothing is lost: use a rocksync with another)";

// Without that, Open refuses.
std::string DiscardLost(const std::vector<std::string>& without_table) {
  std::string names;
  for (const std::string& family : without_table) {
    if (family == kIndexFamilyName) continue;
    names += (names.empty() ? "'" : ", '") + Readable(family) + "'";
  }
  return names.empty() ? ""
                       : "; name in discard_history_of as well what was "
                         "replicated of " +
                             names;
}

}  // namespace

int RunRepair(const RepairToolOptions& options, std::ostream& out,
              std::ostream& err) {
  Repaired repaired;
  rocksdb::Status status = CheckWalDirs(options.wal_dirs, {options.directory});
  if (status.ok()) status = CheckSomethingIsLeft(options.directory);
  if (status.ok()) {
    status = Repair(
        rocksdb::Env::Default(), options.directory,
        WalDirOf(options.wal_dirs, options.directory), options.copy,
        [&](const std::string& step) {
          err << "rocksync repair " << options.directory << ": " << step
              << std::endl;
        },
        &repaired);
  }
  if (!status.ok()) {
    err << "rocksync repair " << options.directory << ": " << status.ToString()
        << '\n';
    return 2;
  }
  for (const auto& [table, holds] : repaired.left_out) {
    out << table << (holds.empty() ? "" : ", " + holds + ",")
        << " was left out as a whole: a block of it does not read, or "
           "RocksDB's "
           "RepairDB does not take it, as a file that was ingested; it is in "
        << options.copy
        << "/lost, and `rocksync rescue` exports what reads of a table\n";
  }
  for (const std::string& family : repaired.without_table) {
    out << "the column family '" << Readable(family)
        << "' had no table that reads in " << options.directory
        << ", and what of it is in the log was left out; " << kElsewhere
        << "\n";
  }
  if (!repaired.missing_table.empty()) {
    out << repaired.missing_table
        << " is not there, and perhaps others: what they held is left out; "
        << kElsewhere << "\n";
  }
  if (!repaired.lost_log.empty()) {
    out << "the log is lost, or a part of it: " << repaired.lost_log
        << "; what only it held is left out\n";
  }
  if (!repaired.damaged_log.empty()) {
    out << repaired.damaged_log
        << " is damaged, not at its end alone: what was written in the damaged "
           "place is left out, and "
        << WithNoun(repaired.log_batches_dropped, "sound batch",
                    "sound batches")
        << " of the log that RocksDB does not read near damage\n";
  }
  for (const std::string& family : repaired.without_entries) {
    out << "the index has lost all that it knew of the column family '"
        << Readable(family) << "'\n";
  }
  out << options.copy << " holds " << WithNoun(repaired.pairs, "pair") << "; "
      << (!repaired.has_index                 ? kAdopt
          : !repaired.without_entries.empty() ? kOpenAsNewAndAdopt
                                              : kOpenAsNew)
      << DiscardLost(repaired.without_table) << '\n';
  return repaired.left_out.empty() && repaired.without_table.empty() &&
                 repaired.missing_table.empty() && repaired.lost_log.empty() &&
                 repaired.damaged_log.empty() &&
                 repaired.without_entries.empty()
             ? 0
             : 1;
}

}  // namespace rocksync
