#include "replication/store/upkeep/unreadable.h"

#include "replication/base/hex.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// Returns `error`, if it is of reading, with the pairs that did not read and
// the remedy.
Status DataError(const Status& error, const Family& family,
                 const std::string& which, const std::string& remedy) {
  if (!error.IsCorruption() && !error.IsIOError()) return error;
  const std::string what = "rocksync: family " + family.name.substr(0, 40) +
                           " does not read " + which + ": " + remedy;
  return error.IsCorruption() ? Status::Corruption(what, error.ToString())
                              : Status::IOError(what, error.ToString());
}

std::string Shown(std::string_view key) {
  constexpr size_t kShown = 32;
  return "key " + HexOf(key.substr(0, kShown)) +
         (key.size() > kShown ? "..." : "");
}

}  // namespace

bool IsDamage(const Status& status) {
  return status.IsCorruption() || status.IsPathNotFound();
}

Status ValueError(const Status& error, const Family& family,
                  std::string_view key) {
  return DataError(error, family, "at " + Shown(key),
                   "write or delete that key, or restore the file");
}

Status KeysError(const Status& error, const Family& family,
                 const std::string* from) {
  return DataError(
      error, family,
      from == nullptr ? "from its beginning" : "behind " + Shown(*from),
      "restore the file, or begin with an empty replica, which its peers fill");
}

}  // namespace rocksync
