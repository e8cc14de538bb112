#include "replication/base/durable_file.h"

#include "replication/base/directories.h"

namespace rocksync {

using rocksdb::Env;
using rocksdb::Status;

// The draft's bytes are made durable before the rename: a file system may make
// the rename durable first, and a loss of power in between would leave an empty
// file in place of the old one. The directory is synced last, as it holds the
// rename: without that the old file may come back after the call returned OK.
Status ReplaceFile(Env* env, const std::string& directory,
                   const std::string& name, std::string_view bytes) {
  const std::string path = directory + "/" + name;
  const std::string draft = path + ".new";
  Status status = rocksdb::WriteStringToFile(
      env, rocksdb::Slice(bytes.data(), bytes.size()), draft,
      /*should_sync=*/true);
  if (status.ok()) status = env->RenameFile(draft, path);
  return status.ok() ? SyncDirectory(env, directory) : status;
}

Status RemoveFile(Env* env, const std::string& directory,
                  const std::string& name) {
  const std::string path = directory + "/" + name;
  Status status = env->FileExists(path);
  if (status.IsNotFound()) return Status::OK();
  if (status.ok()) status = env->DeleteFile(path);
  return status.ok() ? SyncDirectory(env, directory) : status;
}

}  // namespace rocksync
