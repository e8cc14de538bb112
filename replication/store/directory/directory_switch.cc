#include "replication/store/directory/directory_switch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "replication/base/directories.h"
#include "replication/store/directory/directory_lock.h"
#include "replication/store/format/clone_record.h"
#include "replication/store/format/current_manifest.h"
#include "replication/store/format/dropped_batches.h"
#include "replication/store/format/intended_id.h"
#include "replication/store/format/marker.h"
#include "rocksdb/db.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::Status;

// Returns `name` as an absolute path; at least without slashes at its end.
std::string Plain(Env* env, const std::string& name) {
  std::string plain = AbsolutePath(env, name);
  if (plain.empty()) plain = name;
  while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain;
}

std::string ParentOf(const std::string& directory) {
  const size_t slash = directory.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : directory.substr(0, slash);
}

// Whether `path` is a mount point; false on a file system that is not the
// system's.
bool IsMountPoint(const std::string& path) {
  struct stat self = {};
  struct stat parent = {};
  if (lstat(path.c_str(), &self) != 0 ||
      stat(ParentOf(path).c_str(), &parent) != 0) {
    return false;
  }
  // A directory of the same disk may be mounted, too; Linux tells since 5.8.
  struct statx more = {};
  const bool mounted =
      statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, 0, &more) == 0 &&
      (more.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  return mounted || (self.st_dev != parent.st_dev && !S_ISLNK(self.st_mode));
}

// A kind of directory that cannot be renamed, and the remedy.
struct Fixed {
  const char* what;
  const char* remedy;
};
constexpr Fixed kLink = {"a link", "name the directory that it leads to"};
constexpr Fixed kMountPoint = {"a mount point",
                               "keep the database in a directory on that disk"};

// Returns null if the directory can be renamed, or does not exist.
const Fixed* WhyNotRenamed(const std::string& directory) {
  struct stat self = {};
  if (lstat(directory.c_str(), &self) == 0 && S_ISLNK(self.st_mode)) {
    return &kLink;
  }
  return IsMountPoint(directory) ? &kMountPoint : nullptr;
}

// Checks that all files of the application in the directory can be moved. If
// there is no such directory, another check says so.
Status CheckHoldsNoMountPoint(Env* env, const std::string& directory) {
  std::vector<std::string> files;
  env->GetChildren(directory, &files).PermitUncheckedError();
  for (const std::string& file : files) {
    if (file == "." || file == ".." || !IsMountPoint(directory + "/" + file)) {
      continue;
    }
    return Status::NotSupported("rocksync: " + directory + "/" + file +
                                    " is a mount point, which a resync cannot "
                                    "move to the directory of the copy",
                                "unmount it for the time of the resync");
  }
  return Status::OK();
}

// Checks the replica's directory, and that of the copy.
Status CheckCanBeRenamed(Env* env, const std::string& directory,
                         const std::string& copy) {
  if (const Fixed* const it = WhyNotRenamed(directory)) {
    return Status::NotSupported("rocksync: " + directory + " is " + it->what +
                                    ", which a resync cannot replace",
                                it->remedy);
  }
  if (const Fixed* const it = WhyNotRenamed(copy)) {
    return Status::NotSupported("rocksync: " + copy + " is " + it->what +
                                    ", and cannot take the place of " +
                                    directory,
                                "take it away");
  }
  return CheckHoldsNoMountPoint(env, directory);
}

Status Rename(Env* env, const std::string& from, const std::string& to) {
  const Status status = env->RenameFile(from, to);
  return status.ok() ? SyncDirectory(env, ParentOf(to)) : status;
}

bool IsOurs(std::string_view file) {
  return file == kMarkerFileName || file == kIntendedIdFileName ||
         file == kCloneRecordFileName || file == kDroppedBatchesFileName;
}

// Moves what an application keeps in the database's directory to the new one.
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

// Takes step 4. Files that exist in both directories stay, and so does this
// one.
Status RemoveReplaced(Env* env, const std::string& name) {
  const std::string replaced = ReplacedDirectory(env, name);
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

bool IsResynced(Env* env, const std::string& directory) {
  CloneRecord record;
  return ReadCloneRecord(env, directory, &record).ok() &&
         record.purpose == ClonePurpose::kResynced;
}

bool IsReplica(Env* env, const std::string& directory) {
  Marker marker;
  return ReadMarker(env, directory, &marker).ok();
}

// Takes step 3, if the two were exchanged. A copy has a record.
Status MoveReplacedAside(Env* env, const std::string& name) {
  const std::string former = ResyncDirectory(env, name);
  CloneRecord record;
  if (!IsReplica(env, former) ||
      !ReadCloneRecord(env, former, &record).IsNotFound()) {
    return Status::OK();
  }
  return Rename(env, former, ReplacedDirectory(env, name));
}

// Takes steps 3 (after an exchange) to 5. The record stays until all is done:
// without it nobody would retry what has failed.
Status CleanUp(Env* env, const std::string& name) {
  Status status = MoveReplacedAside(env, name);
  if (status.ok()) status = RemoveReplaced(env, name);
  return status.ok() ? RemoveCloneRecord(env, name) : Status::OK();
}

// Renames `now` back to `before`, unless something is there now.
void RenameBack(Env* env, const std::string& now, const std::string& before) {
  if (env->FileExists(before).IsNotFound()) {
    env->RenameFile(now, before).PermitUncheckedError();
  }
}

// Takes steps 2 and 3 in a file system that cannot exchange directories.
Status RenameBoth(Env* env, const std::string& directory) {
  const std::string replaced = ReplacedDirectory(env, directory);
  Status status = Rename(env, directory, replaced);
  if (status.ok()) {
    status = Rename(env, ResyncDirectory(env, directory), directory);
  }
  if (!status.ok()) RenameBack(env, replaced, directory);
  return status;
}

Status Exchange(Env* env, const std::string& directory) {
  const std::string copy = ResyncDirectory(env, directory);
  Status status = ExchangeDirectories(env, copy, directory);
  if (status.IsNotSupported()) return RenameBoth(env, directory);
  if (!status.ok()) return status;
  status = SyncDirectory(env, ParentOf(directory));
  if (!status.ok()) {
    ExchangeDirectories(env, directory, copy).PermitUncheckedError();
  }
  return status;
}

// Removes what a program leaves that opens a database where there is none: a
// LOCK and a LOG. REQUIRES: nobody in this process has a lock on the directory.
void RemoveTracesOfOpening(Env* env, const std::string& directory) {
  std::vector<std::string> files;
  {
    const DirectoryLock lock(env, directory);
    if (!lock.status().ok() || !env->GetChildren(directory, &files).ok()) {
      return;
    }
    std::erase_if(files, [](const std::string& file) {
      return file == "." || file == "..";
    });
    const bool traces_alone =
        std::all_of(files.begin(), files.end(), [](const std::string& file) {
          return file == "LOCK" || file.starts_with("LOG");
        });
    if (!traces_alone) return;
    for (const std::string& file : files) {
      env->DeleteFile(directory + "/" + file).PermitUncheckedError();
    }
  }
  env->DeleteDir(directory).PermitUncheckedError();
}

// Returns the directory that belongs where the replica was, if the gap between
// the two renames left nothing there: the copy or, if that was removed, the one
// that it was to replace. Empty: there is no gap.
std::string BesideTheGap(Env* env, const std::string& directory) {
  const std::string copy = ResyncDirectory(env, directory);
  const std::string replaced = ReplacedDirectory(env, directory);
  std::string current;
  if (!env->FileExists(replaced).ok() ||
      !CurrentManifest(env, directory, &current).IsNotFound()) {
    return "";
  }
  if (IsResynced(env, copy)) return copy;
  return IsReplica(env, replaced) ? replaced : "";
}

// Returns Aborted if another program made a database in the gap.
Status CheckGapIsFree(Env* env, const std::string& directory) {
  const std::string replaced = ReplacedDirectory(env, directory);
  std::string current;
  if (!env->FileExists(replaced).ok() ||
      !IsResynced(env, ResyncDirectory(env, directory)) ||
      IsResynced(env, directory) ||
      !CurrentManifest(env, directory, &current).ok()) {
    return Status::OK();
  }
  return Status::Aborted(
      "rocksync: while a resync of " + directory +
          " took its last steps, another program has made a database there; "
          "the replica is in " +
          replaced,
      "end that program, move " + directory +
          " away and open it again, which puts the replica back");
}

}  // namespace

std::string ResyncDirectory(Env* env, const std::string& name) {
  return Plain(env, name) + kResyncSuffix;
}

std::string ReplacedDirectory(Env* env, const std::string& name) {
  return Plain(env, name) + ".replaced";
}

void TakeOverMode(Env* env, const std::string& name) {
  const std::string copy = ResyncDirectory(env, name);
  struct stat self = {};
  if (stat(Plain(env, name).c_str(), &self) != 0) return;
  // The owner comes before the mode: chown may clear bits of the mode.
  (void)!chown(copy.c_str(), self.st_uid, self.st_gid);
  (void)chmod(copy.c_str(), self.st_mode & 07777);
}

Status CheckSwitch(Env* env, const std::string& name) {
  const std::string replaced = ReplacedDirectory(env, name);
  const Status there = env->FileExists(replaced);
  if (there.IsNotFound()) {
    return CheckCanBeRenamed(env, Plain(env, name), ResyncDirectory(env, name));
  }
  if (!there.ok()) return there;
  return Status::InvalidArgument(
      "rocksync: " + replaced +
          " is there, where a resync puts what it replaces",
      "if an earlier one left it, move files of yours that are in it to " +
          Plain(env, name) + ", then remove it; else move it away");
}

Status SwitchDirectories(Env* env, const std::string& name) {
  const std::string directory = Plain(env, name);
  const std::string copy = ResyncDirectory(env, name);
  CloneRecord record;
  Status status = ReadCloneRecord(env, copy, &record);
  if (!status.ok()) return status;
  record.purpose = ClonePurpose::kResynced;
  status = WriteCloneRecord(env, copy, record);
  if (status.ok()) status = Exchange(env, directory);
  return status.ok() ? CleanUp(env, directory) : status;
}

Status FinishSwitch(Env* env, const std::string& name) {
  const std::string directory = Plain(env, name);
  if (IsResynced(env, directory)) {
    // This directory is the copy itself: the replica is beside it.
    if (directory.ends_with(kResyncSuffix)) {
      return UnfinishedCopy(env, directory);
    }
    return CleanUp(env, directory);
  }
  const std::string beside = BesideTheGap(env, directory);
  if (beside.empty()) return CheckGapIsFree(env, directory);
  Status status = Rename(env, beside, directory);
  if (!status.ok()) {
    RemoveTracesOfOpening(env, directory);
    status = Rename(env, beside, directory);
  }
  if (!status.ok()) {
    return Status::IOError(
        "rocksync: a resync of " + directory + " was interrupted, and " +
            beside + " cannot take its place",
        "move what is in " + directory +
            " away, then open it again: " + status.ToString());
  }
  return IsResynced(env, directory) ? CleanUp(env, directory) : status;
}

Status CheckNoSwitchIsLeft(Env* env, const std::string& name) {
  const std::string directory = Plain(env, name);
  const std::string beside = BesideTheGap(env, directory);
  if (beside.empty()) return CheckGapIsFree(env, directory);
  return Status::Aborted(
      "rocksync: a resync of " + directory +
          " was interrupted, and the replica is in " + beside,
      "open it once by its program, or run the same `rocksync resync` again, "
      "which puts it back");
}

}  // namespace rocksync
