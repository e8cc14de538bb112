#include "replication/store/open/damaged_files.h"

#include <cctype>
#include <string_view>
#include <vector>

#include "replication/session/escape_text.h"
#include "replication/store/open/damaged_manifest.h"
#include "replication/store/open/newer_rocksdb.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::Status;

constexpr std::string_view kSuffix = ".sst";
// Of tables as LevelDB named them.
constexpr std::string_view kOldSuffix = ".ldb";

bool Mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The path of the table that RocksDB's message names; empty: of none.
std::string TableIn(const std::string& text, const std::string& directory,
                    std::string_view ending) {
  const size_t suffix = text.find(ending);
  if (suffix == std::string::npos) return "";
  size_t first = suffix;
  while (first > 0 &&
         std::isdigit(static_cast<unsigned char>(text[first - 1]))) {
    --first;
  }
  if (first == suffix) return "";
  // As the path stands there, if all of it does.
  const size_t name = text.find(directory + "/");
  const size_t word = text.rfind(' ', first) + 1;
  const size_t path = name < first ? name : word;
  const std::string table = text.substr(path, suffix + ending.size() - path);
  return path < first ? table : directory + "/" + table;
}

// Empty: it does not say.
std::string FamilyOf(const std::string& table, rocksdb::Env* env) {
  rocksdb::Options options;
  options.env = env;
  rocksdb::SstFileReader reader(options);
  if (!reader.Open(table).ok()) return "";
  const auto properties = reader.GetTableProperties();
  return properties == nullptr ? "" : properties->column_family_name;
}

Status DamagedTable(const std::string& text, rocksdb::Env* env,
                    const std::string& name) {
  const std::string table = TableIn(text, name, kSuffix);
  const std::string family = table.empty() ? "" : FamilyOf(table, env);
  std::string what = "rocksync: a file of " + name + " does not read";
  std::string remedy =
      "replace the replica by a new, empty one that peers fill; if this one "
      "may hold something alone, `rocksync repair`, which leaves the file out "
      "of a copy of the directory, and open that, or `rocksync rescue` on it";
  if (family == kIndexFamilyName) {
    what = "rocksync: the index of " + name + " does not read";
    remedy =
        "replace the replica by a new, empty one that peers fill; only if this "
        "one alone holds something: `rocksync detach` it, and adopt the data "
        "anew";
  } else if (!family.empty()) {
    what = "rocksync: the column family '" + EscapeText(family) + "' of " +
           name + " does not read";
  }
  return Status::Corruption(what + " (some errors pass: try again first)",
                            remedy + ": " + text);
}

// The table that RocksDB did not find. Up to some version it tries the old
// suffix last, and names that.
std::string MissingTableIn(const std::string& text,
                           const std::string& directory) {
  const std::string old = TableIn(text, directory, kOldSuffix);
  if (old.empty()) return TableIn(text, directory, kSuffix);
  return old.substr(0, old.size() - kOldSuffix.size()).append(kSuffix);
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

// RocksDB found tables that have more than the log, which it read up to where
// it is damaged.
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

// RocksDB names the MANIFEST also where a table that it lists does not read.
bool IsOfManifest(const std::string& text, rocksdb::Env* env,
                  const std::string& name) {
  if (!Mentions(text, "MANIFEST")) return false;
  if (Mentions(text, "entry in MANIFEST")) return true;
  rocksdb::DBOptions options;
  options.env = env;
  std::vector<std::string> names;
  return !rocksdb::DB::ListColumnFamilies(options, name, &names).ok();
}

}  // namespace

std::string MissingTableOf(const Status& status, const std::string& name) {
  const std::string text = status.ToString();
  return !status.ok() && Mentions(text, "No such file")
             ? MissingTableIn(text, name)
             : "";
}

Status NameDamagedFile(const Status& status, rocksdb::Env* env,
                       const std::string& name) {
  const std::string text = status.ToString();
  const bool missing = Mentions(text, "No such file");
  const Status newer = NameNewerRocksDB(status, env, name);
  if (newer.IsNotSupported()) return newer;
  if (Mentions(text, "rocksync: ") ||
      !(status.IsCorruption() || (status.IsIOError() && missing))) {
    return status;
  }
  // In the words of older and of newer versions.
  if (Mentions(text, "ahead of WALs") ||
      Mentions(text, "beyond the point of corruption")) {
    return DamagedLog(text, name);
  }
  const std::string table = MissingTableIn(text, name);
  if (missing && !table.empty()) {
    return MissingTable(table, text, name);
  }
  if (status.IsCorruption() && Mentions(text, "CURRENT file")) {
    return DamagedCurrent(text, name);
  }
  if (IsOfManifest(text, env, name)) {
    return DamagedManifest(name, text);
  }
  return status.IsCorruption() ? DamagedTable(text, env, name) : status;
}

}  // namespace rocksync
