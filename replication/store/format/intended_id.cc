#include "replication/store/format/intended_id.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

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

// The removal is not made durable: the next opening removes a file that comes
// back.
Status RemoveIntendedId(Env* env, const std::string& directory) {
  const Status status = env->FileExists(IntendedIn(directory));
  if (status.IsNotFound()) return Status::OK();
  return status.ok() ? env->DeleteFile(IntendedIn(directory)) : status;
}

IntendedIdLock::IntendedIdLock(const std::string& directory)
    : file_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  using std::chrono::steady_clock;
  // The lock is held for milliseconds, but its holder may be stopped.
  const auto end = steady_clock::now() + std::chrono::seconds(5);
  while (file_ >= 0 && ::flock(file_, LOCK_EX | LOCK_NB) != 0 &&
         errno == EWOULDBLOCK) {
    busy_ = steady_clock::now() >= end;
    if (busy_) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

IntendedIdLock::~IntendedIdLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace rocksync
