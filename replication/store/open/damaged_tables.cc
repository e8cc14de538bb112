#include "replication/store/open/damaged_tables.h"

#include <cctype>
#include <string_view>

#include "rocksdb/options.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// The path of the table that RocksDB's message names; empty: of none.
std::string TableIn(const std::string& text, const std::string& directory) {
  constexpr std::string_view kSuffix = ".sst";
  const size_t suffix = text.find(kSuffix);
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
  const std::string table = text.substr(path, suffix + kSuffix.size() - path);
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

}  // namespace

Status NameDamagedTable(const Status& status, rocksdb::Env* env,
                        const std::string& name) {
  const std::string text = status.ToString();
  if (!status.IsCorruption() || text.find("rocksync: ") != std::string::npos) {
    return status;
  }
  const std::string table = TableIn(text, name);
  const std::string family = table.empty() ? "" : FamilyOf(table, env);
  std::string what = "rocksync: a file of " + name + " does not read";
  std::string remedy =
      "replace the replica by a new, empty one that peers fill, after "
      "`rocksync "
      "rescue` if this one may hold something alone";
  if (family == kIndexFamilyName) {
    what = "rocksync: the index of " + name + " does not read";
    remedy =
        "replace the replica by a new, empty one that peers fill; only if this "
        "one alone holds something: `rocksync detach` it, and adopt the data "
        "anew";
  } else if (!family.empty()) {
    what = "rocksync: the column family '" + family + "' of " + name +
           " does not read";
  }
  return Status::Corruption(what + " (some errors pass: try again first)",
                            remedy + ": " + text);
}

}  // namespace rocksync
