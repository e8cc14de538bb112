#include "replication/store/open/damaged_files.h"

#include <vector>

#include "replication/base/rocksdb_errors.h"
#include "replication/store/open/damaged_manifest.h"
#include "replication/store/open/newer_rocksdb.h"
#include "replication/text/escape_text.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// Returns the family that a table names; empty if it does not say.
std::string FamilyOf(const std::string& table, rocksdb::Env* env) {
  rocksdb::Options options;
  options.env = env;
  rocksdb::SstFileReader reader(options);
  if (!reader.Open(table).ok()) return "";
  const auto properties = reader.GetTableProperties();
  return properties == nullptr ? "" : properties->column_family_name;
}

Status DamagedTable(const Status& status, rocksdb::Env* env,
                    const std::string& name) {
  const std::string table = TableOf(status, name);
  const std::string family = table.empty() ? "" : FamilyOf(table, env);
  std::string what = "rocksync: a file of " + name + " does not read";
  std::string remedy =
      "replace the replica by a new, empty one that peers fill; if this one "
      "may hold something alone, `rocksync repair`, which leaves the file out "
      "of a copy of the directory, and open that, or `rocksync rescue` on it";
  if (family == kIndexFamilyName) {
    what = "rocksync: the index of " + name + " does not read";
    remedy =
        "replace the replica by a new, empty one that peers fill, after "
        "`rocksync rescue`, which exports what it alone holds; if that cannot "
        "read it either, and this one may hold something alone: `rocksync "
        "detach` it, and adopt the data anew";
  } else if (!family.empty()) {
    what = "rocksync: the column family '" + EscapeText(family) + "' of " +
           name + " does not read";
  }
  return Status::Corruption(what + " (some errors pass: try again first)",
                            remedy + ": " + status.ToString());
}

Status MissingTable(const std::string& table, const std::string& text,
                    const std::string& name) {
  return Status::Corruption(
      "rocksync: " + name + " has lost a table, " + table,
      "if it is in another directory, of db_paths or cf_paths, nothing is "
      "lost: only the database's own program opens it, with these options. "
      "Else bring the file back; or replace the replica by a new, empty one "
      "that "
      "peers fill; if this one may hold something alone, `rocksync repair`, "
      "which makes a copy of the directory without the table, and open that: " +
          text);
}

// RocksDB found tables with later writes than the log, which it read up to the
// damage.
Status DamagedLog(const std::string& text, const std::string& name) {
  return Status::Corruption(
      "rocksync: the log of " + name + " is damaged (*.log)",
      "replace the replica by a new, empty one that peers fill, after "
      "`rocksync rescue`, which leaves out what does not read, if this one may "
      "hold something alone: " +
          text);
}

Status DamagedCurrent(const std::string& text, const std::string& name) {
  return Status::Corruption(
      "rocksync: the file CURRENT of " + name + " is damaged",
      "write the name of the MANIFEST-* that is there into it, and a line "
      "feed; or, if this replica may hold something alone, `rocksync repair`; "
      "or move the directory away and start a new, empty replica: " +
          text);
}

// Returns whether the MANIFEST itself is what does not read.
bool IsOfManifest(DamagedPart part, rocksdb::Env* env,
                  const std::string& name) {
  if (part == DamagedPart::kManifestEntry) return true;
  if (part != DamagedPart::kInManifest) return false;
  rocksdb::DBOptions options;
  options.env = env;
  std::vector<std::string> names;
  return !rocksdb::DB::ListColumnFamilies(options, name, &names).ok();
}

}  // namespace

std::string MissingTableOf(const Status& status, const std::string& name) {
  return IsMissingFile(status) ? TableNotFound(status, name) : "";
}

Status NameDamagedFile(const Status& status, rocksdb::Env* env,
                       const std::string& name) {
  const Status newer = NameNewerRocksDB(status, env, name);
  if (newer.IsNotSupported()) return newer;
  if (IsOurError(status) || !(status.IsCorruption() ||
                              (status.IsIOError() && IsMissingFile(status)))) {
    return status;
  }
  const std::string text = status.ToString();
  const DamagedPart part = DamagedPartOf(status);
  if (part == DamagedPart::kLog) return DamagedLog(text, name);
  const std::string table = MissingTableOf(status, name);
  if (!table.empty()) return MissingTable(table, text, name);
  if (part == DamagedPart::kCurrent) return DamagedCurrent(text, name);
  if (IsOfManifest(part, env, name)) return DamagedManifest(name, text);
  return status.IsCorruption() ? DamagedTable(status, env, name) : status;
}

}  // namespace rocksync
