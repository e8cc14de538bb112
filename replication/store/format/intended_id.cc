#include "replication/store/format/intended_id.h"

#include "replication/base/durable_file.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::Status;

std::string IntendedIn(const std::string& directory) {
  return directory + "/" + kIntendedIdFileName;
}

}  // namespace

Status ReadIntendedId(Env* env, const std::string& directory, uint64_t* id) {
  const std::string name = IntendedIn(directory);
  Status status = env->FileExists(name);
  if (!status.ok()) return status;
  std::string text;
  status = rocksdb::ReadFileToString(env, name, &text);
  if (!status.ok()) return status;
  if (text.ends_with('\n')) {
    text.pop_back();
    *id = ParseReplicaId(text).value_or(0);
    if (*id != 0) return status;
  }
  return Status::Corruption("rocksync: " + name + " holds no replica id",
                            "remove it, and run `rocksync id --make` again");
}

Status WriteIntendedId(Env* env, const std::string& directory, uint64_t id) {
  return ReplaceFile(env, directory, kIntendedIdFileName,
                     ReplicaIdHex(id) + "\n");
}

// Not made durable: a file that comes back is removed by the next opening.
Status RemoveIntendedId(Env* env, const std::string& directory) {
  const Status status = env->FileExists(IntendedIn(directory));
  if (status.IsNotFound()) return Status::OK();
  return status.ok() ? env->DeleteFile(IntendedIn(directory)) : status;
}

}  // namespace rocksync
