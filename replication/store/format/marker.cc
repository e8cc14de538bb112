#include "replication/store/format/marker.h"

#include <algorithm>

#include "replication/base/durable_file.h"
#include "replication/base/random_bits.h"
#include "sketch/element/coding.h"
#include "sketch/element/sha256.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::Status;

constexpr std::string_view kMagic = "rocksync";
constexpr uint8_t kFormat = 3;
constexpr size_t kChecksumBytes = 8;
constexpr size_t kMaxPath = 1 << 16;
constexpr size_t kMaxMarks = 2;
constexpr size_t kMaxFiles = 1 << 16;
constexpr size_t kMaxFileName = 256;
constexpr uint8_t kIndexInTables = 1;
constexpr uint8_t kRest = 2;

std::string Checksum(std::string_view bytes) {
  const Sha256Digest digest = Sha256({bytes});
  return std::string(AsPiece(digest).substr(0, kChecksumBytes));
}

bool GetText(std::string_view* bytes, size_t most, std::string* text) {
  std::string_view view;
  if (!GetLengthPrefixed(bytes, most, &view)) return false;
  text->assign(view);
  return true;
}

bool GetMarks(std::string_view* bytes, std::vector<std::string>* marks) {
  uint8_t count = 0;
  if (!GetFixed8(bytes, &count) || count == 0 || count > kMaxMarks) {
    return false;
  }
  marks->assign(count, {});
  return std::all_of(marks->begin(), marks->end(), [&](std::string& mark) {
    return GetText(bytes, kMarkBytes, &mark) &&
           (mark.empty() || mark.size() == kMarkBytes);
  });
}

bool GetFiles(std::string_view* bytes, std::vector<FileLeft>* files) {
  uint32_t count = 0;
  if (!GetFixed32(bytes, &count) || count > kMaxFiles) return false;
  files->assign(count, {});
  return std::all_of(files->begin(), files->end(), [&](FileLeft& file) {
    return GetText(bytes, kMaxFileName, &file.name) &&
           GetFixed64(bytes, &file.least_bytes) &&
           GetFixed64(bytes, &file.hash);
  });
}

bool GetFlags(std::string_view* bytes, Marker* marker) {
  uint8_t flags = 0;
  if (!GetFixed8(bytes, &flags) || flags > (kIndexInTables | kRest)) {
    return false;
  }
  marker->index_in_tables = (flags & kIndexInTables) != 0;
  marker->rest = (flags & kRest) != 0;
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
  // Too many files are left out altogether: a reader could not notice missing
  // ones.
  const bool too_many = marker.files.size() > kMaxFiles;
  PutFixed32(&out, too_many ? 0 : static_cast<uint32_t>(marker.files.size()));
  for (const FileLeft& file : marker.files) {
    if (too_many) break;
    PutLengthPrefixed(&out, file.name);
    PutFixed64(&out, file.least_bytes);
    PutFixed64(&out, file.hash);
  }
  PutFixed8(&out, (marker.index_in_tables ? kIndexInTables : 0) |
                      (marker.rest ? kRest : 0));
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
  return GetBytes(&bytes, kMagic.size(), &magic) && magic == kMagic &&
         GetFixed8(&bytes, &format) && format == kFormat &&
         GetText(&bytes, kMaxPath, &marker->directory) &&
         GetText(&bytes, kMaxPath, &marker->wal_dir) &&
         GetMarks(&bytes, &marker->marks) && GetFiles(&bytes, &marker->files) &&
         GetFlags(&bytes, marker) && bytes.empty();
}

Status ReadMarker(Env* env, const std::string& directory, Marker* marker) {
  const std::string name = directory + "/" + kMarkerFileName;
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
  return ReplaceFile(env, directory, kMarkerFileName, Encode(marker));
}

Status RemoveMarker(Env* env, const std::string& directory) {
  return RemoveFile(env, directory, kMarkerFileName);
}

}  // namespace rocksync
