#include "replication/store/format/path_owner.h"

#include <sys/stat.h>

#include <array>
#include <charconv>
#include <system_error>

#include "replication/base/directories.h"
#include "replication/base/durable_file.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::Status;

constexpr std::string_view kVersion = "1 ";

// Removes from the text a line of `bytes` bytes and its line feed.
bool TakeLine(std::string_view* text, uint64_t bytes, std::string* line) {
  if (bytes >= text->size() || (*text)[bytes] != '\n') return false;
  line->assign(text->substr(0, bytes));
  text->remove_prefix(bytes + 1);
  return true;
}

// Reads a file. Returns Corruption if it cannot be one of these: reading a pipe
// would wait, and some devices have no end.
Status ReadBounded(Env* env, const std::string& file, std::string* bytes) {
  constexpr uint64_t kMaxBytes = uint64_t{1} << 16;  // names have 4 KiB
  struct stat found = {};
  if (::stat(file.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
    return Status::Corruption();
  }
  uint64_t size = 0;
  const Status status = env->GetFileSize(file, &size);
  if (!status.ok()) return status;
  return size > kMaxBytes ? Status::Corruption()
                          : rocksdb::ReadFileToString(env, file, bytes);
}

Status GivenToAnother(const PathOwner& owner) {
  return Status::Busy("rocksync: " + owner.path.path +
                          " was given to another database at the same moment",
                      "give each database directories of its own");
}

// Creates the file by a link, which, unlike a rename, fails if the file exists.
// Two databases may be opened at the same moment with one directory that
// belonged to none when they looked.
Status MakeOwnerFile(Env* env, const char* name, const PathOwner& owner) {
  const std::string& directory = owner.path.path;
  const std::string path = directory + "/" + name;
  const std::string draft = path + "." + ReplicaIdHex(owner.token) + ".new";
  Status status = rocksdb::WriteStringToFile(env, Encode(owner), draft,
                                             /*should_sync=*/true);
  if (status.ok()) {
    status = env->LinkFile(draft, path);
    if (!status.ok()) {
      // The file system may have no links.
      status = env->FileExists(path).IsNotFound() ? env->RenameFile(draft, path)
                                                  : GivenToAnother(owner);
    }
  }
  env->DeleteFile(draft).PermitUncheckedError();
  return status.ok() ? SyncDirectory(env, directory) : status;
}

}  // namespace

bool DirectoryName::Is(const DirectoryName& other) const {
  return path == other.path ||
         (inode != 0 && inode == other.inode && device == other.device);
}

DirectoryName NameOf(const std::string& path) {
  DirectoryName name = {.path = WithoutLinks(path)};
  struct stat found = {};
  if (::stat(path.c_str(), &found) == 0) {
    name.device = found.st_dev;
    name.inode = found.st_ino;
  }
  return name;
}

std::string Encode(const PathOwner& owner) {
  std::string text = std::string(kVersion) + ReplicaIdHex(owner.token) + " ";
  for (const uint64_t number :
       {owner.database.device, owner.database.inode, owner.path.device,
        owner.path.inode, uint64_t{owner.database.path.size()}}) {
    text += std::to_string(number) + " ";
  }
  text += std::to_string(owner.path.path.size()) + "\n";
  return text + owner.database.path + "\n" + owner.path.path + "\n";
}

bool Decode(std::string_view bytes, PathOwner* owner) {
  if (!bytes.starts_with(kVersion)) return false;
  bytes.remove_prefix(kVersion.size());
  constexpr size_t kTokenDigits = 16;
  if (bytes.size() <= kTokenDigits || bytes[kTokenDigits] != ' ') return false;
  const auto token = ParseReplicaId(std::string(bytes.substr(0, kTokenDigits)));
  if (!token.has_value()) return false;
  owner->token = *token;
  bytes.remove_prefix(kTokenDigits + 1);
  std::array<uint64_t, 6> numbers = {};
  for (size_t i = 0; i < numbers.size(); ++i) {
    const char* const end = bytes.data() + bytes.size();
    const auto [after, error] = std::from_chars(bytes.data(), end, numbers[i]);
    const char behind = i + 1 < numbers.size() ? ' ' : '\n';
    if (error != std::errc() || after == end || *after != behind) return false;
    bytes.remove_prefix(static_cast<size_t>(after + 1 - bytes.data()));
  }
  owner->database.device = numbers[0];
  owner->database.inode = numbers[1];
  owner->path.device = numbers[2];
  owner->path.inode = numbers[3];
  return TakeLine(&bytes, numbers[4], &owner->database.path) &&
         TakeLine(&bytes, numbers[5], &owner->path.path) && bytes.empty();
}

Status ReadOwner(Env* env, const std::string& path, const char* name,
                 PathOwner* owner) {
  const std::string file = path + "/" + name;
  Status status = env->FileExists(file);
  if (!status.ok()) return status;
  std::string bytes;
  status = ReadBounded(env, file, &bytes);
  if (status.IsIOError() || (status.ok() && Decode(bytes, owner))) {
    return status;
  }
  const bool is_own = name == std::string_view(kPathsFileName);
  return Status::Corruption(
      "rocksync: " + file +
          ", which says whose files outside of a database's directory are, is "
          "damaged",
      is_own ? "remove it, and the file ROCKSYNC.owner in each directory of "
               "wal_dir, db_paths and cf_paths that is this database's: the "
               "opening writes all of them anew"
             : "if this database uses them, remove it");
}

Status WriteOwner(Env* env, const char* name, const PathOwner& owner,
                  bool replaces, std::vector<FormerOwner>* former) {
  const std::string& directory = owner.path.path;
  PathOwner before;
  const Status read = ReadOwner(env, directory, name, &before);
  if (read.IsNotFound()) {
    const Status status = MakeOwnerFile(env, name, owner);
    if (status.ok()) former->push_back({directory, name, std::nullopt});
    return status;
  }
  if (!read.ok() || Encode(before) == Encode(owner)) return read;
  if (!replaces) return GivenToAnother(owner);
  former->push_back({directory, name, before});
  return ReplaceFile(env, directory, name, Encode(owner));
}

Status RemoveOwner(Env* env, const std::string& directory, const char* name,
                   std::vector<FormerOwner>* former) {
  PathOwner before;
  const Status status = ReadOwner(env, directory, name, &before);
  if (!status.ok()) return status;
  former->push_back({directory, name, before});
  return RemoveFile(env, directory, name);
}

void RestoreOwners(Env* env, const std::vector<FormerOwner>& former) {
  // Newest first, as a file may have been changed twice.
  for (auto file = former.rbegin(); file != former.rend(); ++file) {
    const Status status = file->owner.has_value()
                              ? ReplaceFile(env, file->directory, file->name,
                                            Encode(*file->owner))
                              : RemoveFile(env, file->directory, file->name);
    status.PermitUncheckedError();
  }
}

}  // namespace rocksync
