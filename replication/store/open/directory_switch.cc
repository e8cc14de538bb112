#include "replication/store/open/directory_switch.h"

#include <sys/stat.h>

#include <string_view>
#include <vector>

#include "replication/store/format/clone_record.h"
#include "replication/store/format/current_manifest.h"
#include "replication/store/format/intended_id.h"
#include "replication/store/format/marker.h"
#include "rocksdb/db.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::Status;

std::string WithoutSlashes(std::string name) {
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  return name;
}

std::string ParentOf(const std::string& directory) {
  const size_t slash = directory.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : directory.substr(0, slash);
}

// Of a file system that is not the system's nothing is known.
Status CheckCanBeRenamed(const std::string& directory) {
  struct stat self = {};
  struct stat parent = {};
  if (lstat(directory.c_str(), &self) != 0 ||
      stat(ParentOf(directory).c_str(), &parent) != 0) {
    return Status::OK();
  }
  const bool is_link = S_ISLNK(self.st_mode);
  if (!is_link && self.st_dev == parent.st_dev) return Status::OK();
  return Status::NotSupported(
      "rocksync: " + directory + " is a " + (is_link ? "link" : "mount point") +
          ", which a resync cannot replace",
      is_link ? "name the directory that it leads to"
              : "keep the database in a directory on that disk");
}

Status Rename(Env* env, const std::string& from, const std::string& to) {
  const Status status = env->RenameFile(from, to);
  return status.ok() ? SyncDirectory(env, ParentOf(to)) : status;
}

bool IsOurs(std::string_view file) {
  return file == kMarkerFileName || file == kIntendedIdFileName ||
         file == kCloneRecordFileName;
}

// What an application keeps in the database's directory stays there.
Status MoveOthersFiles(Env* env, const std::string& from,
                       const std::string& to) {
  std::vector<std::string> files;
  Status status = env->GetChildren(from, &files);
  for (const std::string& file : files) {
    if (!status.ok()) return status;
    if (file == "." || file == "..") continue;
    const std::string there = from + "/" + file;
    if (IsOurs(file)) {
      status = env->DeleteFile(there);
    } else if (env->FileExists(to + "/" + file).IsNotFound()) {
      status = env->RenameFile(there, to + "/" + file);
    }
  }
  return status.ok() ? SyncDirectory(env, to) : status;
}

// Step 4. Files that both have remain, and the directory with them.
Status RemoveReplaced(Env* env, const std::string& name) {
  const std::string replaced = ReplacedDirectory(name);
  if (env->FileExists(replaced).IsNotFound()) return Status::OK();
  rocksdb::Options options;
  options.env = env;
  Status status = rocksdb::DestroyDB(replaced, options);
  if (status.ok() && env->FileExists(replaced).ok()) {
    status = MoveOthersFiles(env, replaced, name);
    if (status.ok()) env->DeleteDir(replaced).PermitUncheckedError();
  }
  return status;
}

// What cannot be removed stays: nothing depends on it, and it must not keep the
// replica from being opened.
Status CleanUp(Env* env, const std::string& name) {
  RemoveReplaced(env, name).PermitUncheckedError();
  return RemoveCloneRecord(env, name);
}

bool IsResynced(Env* env, const std::string& directory) {
  CloneRecord record;
  return ReadCloneRecord(env, directory, &record).ok() &&
         record.purpose == ClonePurpose::kResynced;
}

}  // namespace

std::string ResyncDirectory(const std::string& name) {
  return WithoutSlashes(name) + ".resync";
}

std::string ReplacedDirectory(const std::string& name) {
  return WithoutSlashes(name) + ".replaced";
}

Status UnfinishedResync(const std::string& directory) {
  return Status::Aborted(
      "rocksync: " + directory + " holds a copy that a resync makes",
      "finish it by the same ReplicatedDB::Resync of the replica, or remove "
      "the "
      "directory");
}

Status CheckSwitch(Env* env, const std::string& name) {
  const std::string replaced = ReplacedDirectory(name);
  const Status there = env->FileExists(replaced);
  if (there.IsNotFound()) return CheckCanBeRenamed(WithoutSlashes(name));
  if (!there.ok()) return there;
  return Status::InvalidArgument("rocksync: " + replaced +
                                     " is there, where a resync puts what it "
                                     "replaces",
                                 "move it away");
}

Status SwitchDirectories(Env* env, const std::string& name) {
  const std::string directory = WithoutSlashes(name);
  const std::string copy = ResyncDirectory(name);
  CloneRecord record;
  Status status = ReadCloneRecord(env, copy, &record);
  if (!status.ok()) return status;
  record.purpose = ClonePurpose::kResynced;
  status = WriteCloneRecord(env, copy, record);
  if (status.ok()) status = Rename(env, directory, ReplacedDirectory(name));
  if (status.ok()) status = Rename(env, copy, directory);
  return status.ok() ? CleanUp(env, directory) : status;
}

Status FinishSwitch(Env* env, const std::string& name) {
  const std::string directory = WithoutSlashes(name);
  if (IsResynced(env, directory)) {
    // Whoever opens the copy itself finds the replica beside it.
    if (directory.ends_with(".resync")) return UnfinishedResync(directory);
    return CleanUp(env, directory);
  }
  // Between the two renames: nothing is where the replica was.
  const std::string copy = ResyncDirectory(name);
  std::string current;
  if (!CurrentManifest(env, directory, &current).IsNotFound() ||
      !IsResynced(env, copy) ||
      !env->FileExists(ReplacedDirectory(name)).ok()) {
    return Status::OK();
  }
  const Status status = Rename(env, copy, directory);
  return status.ok() ? CleanUp(env, directory) : status;
}

}  // namespace rocksync
