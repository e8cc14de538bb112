#include "replication/store/open/log_files.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "replication/base/directories.h"
#include "replication/store/format/path_owner.h"
#include "rocksdb/file_system.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::Status;

bool IsLog(std::string_view name) {
  constexpr std::string_view kLogSuffix = ".log";
  if (!name.ends_with(kLogSuffix)) return false;
  name.remove_suffix(kLogSuffix.size());
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
}

// Lists a directory. Returns OK without names if it is not there, and IOError
// if that cannot be seen.
Status List(Env* env, const std::string& directory,
            std::vector<std::string>* names) {
  const Status status = env->GetChildren(directory, names);
  if (!status.IsNotFound() && !status.IsPathNotFound()) return status;
  return CheckMayReach(directory);
}

// Sets `*same` to whether the two files hold the same bytes.
Status Compare(Env* env, const std::string& left, const std::string& right,
               bool* same) {
  constexpr size_t kBlock = 1 << 20;
  uint64_t sizes[2] = {};
  Status status = env->GetFileSize(left, &sizes[0]);
  if (status.ok()) status = env->GetFileSize(right, &sizes[1]);
  *same = status.ok() && sizes[0] == sizes[1];
  if (!*same) return status;
  std::unique_ptr<rocksdb::SequentialFile> files[2];
  status = env->NewSequentialFile(left, &files[0], rocksdb::EnvOptions());
  if (status.ok()) {
    status = env->NewSequentialFile(right, &files[1], rocksdb::EnvOptions());
  }
  std::string scratch[2] = {std::string(kBlock, '\0'),
                            std::string(kBlock, '\0')};
  rocksdb::Slice blocks[2];
  do {
    for (int i = 0; status.ok() && i < 2; ++i) {
      status = files[i]->Read(kBlock, &blocks[i], scratch[i].data());
    }
    *same = status.ok() && blocks[0] == blocks[1];
  } while (*same && !blocks[0].empty());
  return status;
}

}  // namespace

Status ListLogFiles(Env* env, const std::string& directory,
                    std::set<std::string>* names) {
  std::vector<std::string> all;
  const Status status = List(env, directory, &all);
  for (std::string& name : all) {
    if (IsLog(name)) names->insert(std::move(name));
  }
  return status;
}

bool IsTableOrBlob(std::string_view name) {
  return name.ends_with(".sst") || name.ends_with(".ldb") ||
         name.ends_with(".blob");
}

uint64_t LogNumber(const std::string& log) {
  return std::strtoull(log.c_str(), nullptr, 10);
}

Status CheckLogIsTheSame(Env* env, const std::string& directory,
                         const std::string& written_to,
                         const std::string& wal_dir) {
  std::set<std::string> there;
  Status status = ListLogFiles(env, wal_dir, &there);
  std::set<std::string> before;
  if (status.ok()) status = ListLogFiles(env, written_to, &before);
  for (const std::string& name : there) {
    if (!status.ok() || before.empty() || before.contains(name)) continue;
    return Status::InvalidArgument(
        "rocksync: the log of " + directory + " was written to " + written_to +
            ", and " + wal_dir + " holds another one (" + name + ")",
        "correct DBOptions::wal_dir (of a command: --wal-dir " + directory +
            "=LOGDIR); if the log in " + wal_dir +
            " is the right one, move the *.log in " + written_to + " away");
  }
  for (const std::string& name : before) {
    if (!status.ok()) return status;
    const std::string path = written_to + "/" + name;
    uint64_t size = 0;
    status = env->GetFileSize(path, &size);
    if (!status.ok() || (size == 0 && !there.contains(name))) continue;
    bool same = false;
    if (there.contains(name)) {
      status = Compare(env, path, wal_dir + "/" + name, &same);
      if (!status.ok() || same) continue;
    }
    return Status::InvalidArgument(
        "rocksync: the log of " + directory + " was written to " + written_to +
            " (" + name + "), and is not in " + wal_dir +
            (there.contains(name) ? ", where another file has that name" : ""),
        "correct DBOptions::wal_dir (of a command: --wal-dir " + directory +
            "=LOGDIR), or move the log's files; if those in " + wal_dir +
            " are the right ones, move " + path + " away");
  }
  return status;
}

Status CheckLogIsThere(Env* env, const Marker& marker,
                       const std::string& directory, const std::string& wal_dir,
                       bool may_be_lost) {
  if (directory.empty() || marker.directory != directory || wal_dir.empty() ||
      marker.wal_dir.empty()) {
    return Status::OK();
  }
  std::set<std::string> there;
  Status status = ListLogFiles(env, wal_dir, &there);
  if (!status.ok()) return status;
  if (marker.wal_dir != wal_dir) {
    return CheckLogIsTheSame(env, directory, marker.wal_dir, wal_dir);
  }
  if (!there.empty() || may_be_lost) return status;
  return Status::Aborted(
      "rocksync: " + directory + " has lost its log: there is no *.log" +
          (wal_dir == directory ? "" : " in " + wal_dir) +
          ", and there was one; a checkpoint or backup was restored over it, "
          "RepairDB was used, or the log was removed or is on a disk that is "
          "not mounted",
      "bring the log back, if there is one; else open what is there once with "
      "the option open_copy_as_new_replica (rocksync-store: --as-new-replica), "
      "as a new replica, or, if that says that the index is lost, as RepairDB "
      "may leave it, with adopt_after_index_loss");
}

Status CheckNothingIsThere(Env* env, const std::string& directory) {
  std::vector<std::string> names;
  const Status status = List(env, directory, &names);
  // A creation that was interrupted leaves this file, and no data.
  constexpr std::string_view kFirstManifest = "MANIFEST-000001";
  const bool has_marker =
      std::find(names.begin(), names.end(), kMarkerFileName) != names.end();
  PathOwner owner;
  if (!has_marker && ReadOwner(env, directory, kOwnerFileName, &owner).ok() &&
      owner.path.Is(NameOf(AbsolutePath(env, directory)))) {
    return Status::InvalidArgument(
        "rocksync: " + directory +
            " is no database: it is for the log or the tables of the database "
            "in " +
            owner.database.path,
        "give the directory of a database, or one for a new one; or, if that "
        "one does not use it any more, remove " +
            directory + "/" + kOwnerFileName);
  }
  for (const std::string& name : names) {
    const bool is_manifest =
        name.starts_with("MANIFEST-") && (has_marker || name != kFirstManifest);
    if (!is_manifest && !IsLog(name) && !IsTableOrBlob(name)) continue;
    return Status::Corruption(
        "rocksync: " + directory + " has lost its CURRENT file, and holds " +
            name,
        "restore the file, or write the name of the MANIFEST-* into it, and "
        "a line feed; or run `rocksync repair`; or move the directory away and "
        "start a new, empty replica. If another database has its log or "
        "tables there, give another directory");
  }
  return status;
}

Status CheckNoLogIsThere(Env* env, const std::string& directory,
                         const std::string& wal_dir) {
  std::vector<std::string> names;
  const Status status = List(env, wal_dir, &names);
  const auto found =
      std::find_if(names.begin(), names.end(), [](const std::string& name) {
        return IsLog(name) || name == "CURRENT" || IsTableOrBlob(name) ||
               name.starts_with("MANIFEST-");
      });
  if (!status.ok() || found == names.end()) return status;
  return Status::InvalidArgument(
      "rocksync: " + directory + " is to be made with wal_dir " + wal_dir +
          ", which holds the log of another database, or that database "
          "itself (" +
          *found + ")",
      "give each database a directory of its own; or, if that database is "
      "gone, remove its log");
}

Status CheckLogCanBeSynced(const rocksdb::DBOptions& options,
                           const std::string& directory) {
  if (options.env == Env::Default()) return Status::OK();
  const std::string place =
      options.wal_dir.empty() ? directory : options.wal_dir;
  const std::shared_ptr<rocksdb::FileSystem> files =
      options.env->GetFileSystem();
  const std::string name = place + "/" + kMarkerFileName + ".probe";
  const bool there = options.env->FileExists(place).ok();
  if (!there && (!options.create_if_missing ||
                 !options.env->CreateDirIfMissing(place).ok())) {
    return Status::OK();
  }
  std::unique_ptr<rocksdb::FSWritableFile> file;
  const bool made =
      files
          ->NewWritableFile(name, rocksdb::FileOptions(options), &file, nullptr)
          .ok();
  const bool can_be_synced = !made || file->IsSyncThreadSafe();
  file.reset();
  if (made) options.env->DeleteFile(name).PermitUncheckedError();
  if (can_be_synced) return Status::OK();
  if (!there) options.env->DeleteDir(place).PermitUncheckedError();
  return Status::NotSupported(
      "rocksync: DBOptions::env makes log files in " + place +
          " that cannot be synced while RocksDB writes to them, as NewMemEnv "
          "does",
      "use an Env on a POSIX file system, for tests one on tmpfs");
}

}  // namespace rocksync
