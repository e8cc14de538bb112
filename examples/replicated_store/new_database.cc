#include "examples/replicated_store/new_database.h"

#include <algorithm>
#include <vector>

#include "rocksdb/env.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::Status;

// A line, which `rocksync id --make` leaves there; NotFound: it did not.
Status ReadIntended(const std::string& directory, std::string* id) {
  const std::string file = directory + "/ROCKSYNC.id";
  Status status = Env::Default()->FileExists(file);
  if (status.ok()) status = rocksdb::ReadFileToString(Env::Default(), file, id);
  if (!id->empty() && id->back() == '\n') id->pop_back();
  return status;
}

// Or is not there: what a mount point is without its disk. What an interrupted
// resync has put beside it, opening puts back.
bool IsEmpty(const std::string& directory) {
  std::string path = directory;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (Env::Default()->FileExists(path + ".replaced").ok()) return false;
  std::vector<std::string> files;
  Env::Default()->GetChildren(path, &files).PermitUncheckedError();
  return std::all_of(files.begin(), files.end(), [](const std::string& name) {
    return name == "." || name == ".." || name == "lost+found";
  });
}

}  // namespace

Status CheckNewDatabase(const std::string& directory,
                        const std::string& certificate_file, uint64_t named,
                        bool* may_be_made) {
  std::string intended;
  const Status status = ReadIntended(directory, &intended);
  *may_be_made = status.ok();
  const std::string names = "certificate " + certificate_file +
                            " names replica " + ReplicaIdHex(named);
  if (status.ok() && intended != ReplicaIdHex(named)) {
    return Status::InvalidArgument(names + ", and the database in " +
                                       directory + " is to be replica " +
                                       intended,
                                   "`rocksync certificate --ca ca.pem --ca-key "
                                   "ca.key --output NAME --id " +
                                       intended + "` makes its own");
  }
  if (!status.IsNotFound()) return status;
  if (!IsEmpty(directory)) return Status::OK();
  return Status::NotFound(
      directory + " holds no database, and " + names,
      "if its disk is not mounted, mount it; if it was lost, or this replica "
      "is new, `rocksync id --make " +
          directory +
          "` gives it an id of its own, and `rocksync certificate --ca ca.pem "
          "--ca-key ca.key --output NAME --id ID` the certificate; peers fill "
          "it");
}

}  // namespace rocksync
