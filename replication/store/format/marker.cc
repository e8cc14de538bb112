#include "replication/store/format/marker.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "replication/store/format/random_bits.h"
#include "sketch/element/coding.h"
#include "sketch/element/sha256.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::Status;

constexpr std::string_view kMagic = "rocksync";
constexpr uint8_t kFormat = 1;
constexpr size_t kChecksumBytes = 8;
constexpr size_t kMaxPath = 1 << 16;
constexpr size_t kMaxMarks = 2;

std::string NameIn(const std::string& directory) {
  return directory + "/" + kMarkerFileName;
}

std::string Checksum(std::string_view bytes) {
  const Sha256Digest digest = Sha256({bytes});
  return std::string(AsPiece(digest).substr(0, kChecksumBytes));
}

bool GetPath(std::string_view* bytes, std::string* path) {
  std::string_view view;
  if (!GetLengthPrefixed(bytes, kMaxPath, &view)) return false;
  path->assign(view);
  return true;
}

}  // namespace

bool Marker::Lists(std::string_view mark) const {
  return std::find(marks.begin(), marks.end(), mark) != marks.end();
}

std::string NewMark() {
  std::string mark;
  while (mark.size() < kMarkBytes) {
    PutFixed32(&mark, static_cast<uint32_t>(RandomBits()));
  }
  return mark;
}

std::string Encode(const Marker& marker) {
  std::string out(kMagic);
  PutFixed8(&out, kFormat);
  PutLengthPrefixed(&out, marker.directory);
  PutLengthPrefixed(&out, marker.wal_dir);
  PutFixed8(&out, static_cast<uint8_t>(marker.marks.size()));
  for (const std::string& mark : marker.marks) PutLengthPrefixed(&out, mark);
  out.append(Checksum(out));
  return out;
}

bool Decode(std::string_view bytes, Marker* marker) {
  if (bytes.size() < kChecksumBytes) return false;
  std::string_view checksum = bytes;
  checksum.remove_prefix(bytes.size() - kChecksumBytes);
  bytes.remove_suffix(kChecksumBytes);
  if (checksum != Checksum(bytes)) return false;
  std::string_view magic;
  uint8_t format = 0;
  uint8_t count = 0;
  if (!GetBytes(&bytes, kMagic.size(), &magic) || magic != kMagic ||
      !GetFixed8(&bytes, &format) || format != kFormat ||
      !GetPath(&bytes, &marker->directory) ||
      !GetPath(&bytes, &marker->wal_dir) || !GetFixed8(&bytes, &count) ||
      count == 0 || count > kMaxMarks) {
    return false;
  }
  marker->marks.clear();
  for (uint8_t i = 0; i < count; ++i) {
    std::string_view mark;
    if (!GetLengthPrefixed(&bytes, kMarkBytes, &mark) ||
        (!mark.empty() && mark.size() != kMarkBytes)) {
      return false;
    }
    marker->marks.emplace_back(mark);
  }
  return bytes.empty();
}

Status ReadMarker(Env* env, const std::string& directory, Marker* marker) {
  const std::string name = NameIn(directory);
  Status status = env->FileExists(name);
  if (!status.ok()) return status;
  std::string bytes;
  status = rocksdb::ReadFileToString(env, name, &bytes);
  if (!status.ok()) return status;
  if (!Decode(bytes, marker)) {
    return Status::Corruption(
        "rocksync: " + name + " is damaged or of a newer version",
        "use a newer version of the library; or remove the file: then the "
        "database counts as a copy (option open_copy_as_new_replica, of "
        "rocksync-store --as-new-replica)");
  }
  return status;
}

Status WriteMarker(Env* env, const std::string& directory,
                   const Marker& marker) {
  const std::string name = NameIn(directory);
  const std::string fresh = name + ".new";
  // The bytes are durable before the name is, and the name before we return.
  Status status = rocksdb::WriteStringToFile(env, Encode(marker), fresh,
                                             /*should_sync=*/true);
  if (status.ok()) status = env->RenameFile(fresh, name);
  return status.ok() ? SyncDirectory(env, directory) : status;
}

Status RemoveMarker(Env* env, const std::string& directory) {
  const std::string name = NameIn(directory);
  Status status = env->FileExists(name);
  if (status.IsNotFound()) return Status::OK();
  if (status.ok()) status = env->DeleteFile(name);
  return status.ok() ? SyncDirectory(env, directory) : status;
}

Status SyncDirectory(Env* env, const std::string& name) {
  std::unique_ptr<rocksdb::Directory> directory;
  const Status status = env->NewDirectory(name, &directory);
  return status.ok() ? directory->Fsync() : status;
}

std::string AbsolutePath(Env* env, const std::string& path) {
  std::string absolute;
  if (!env->GetAbsolutePath(path, &absolute).ok()) return "";
  // RocksDB's own file system says of any relative path where the process is.
  std::string other;
  if (!path.starts_with('/') &&
      env->GetAbsolutePath(path + "/x", &other).ok() && other == absolute) {
    absolute.append("/").append(path);
  }
  std::string normal =
      std::filesystem::path(absolute).lexically_normal().string();
  if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

}  // namespace rocksync
