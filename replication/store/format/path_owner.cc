#include "replication/store/format/path_owner.h"

#include <sys/stat.h>

#include <array>
#include <charconv>
#include <system_error>

#include "replication/base/durable_file.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::Status;

constexpr std::string_view kVersion = "1 ";

// Takes `bytes` and the line's end off the text.
bool TakeLine(std::string_view* text, uint64_t bytes, std::string* line) {
  if (bytes >= text->size() || (*text)[bytes] != '\n') return false;
  line->assign(text->substr(0, bytes));
  text->remove_prefix(bytes + 1);
  return true;
}

}  // namespace

bool DirectoryName::Is(const DirectoryName& other) const {
  return path == other.path ||
         (inode != 0 && inode == other.inode && device == other.device);
}

DirectoryName NameOf(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return {.path = path};
  return {.path = path, .device = found.st_dev, .inode = found.st_ino};
}

std::string Encode(const PathOwner& owner) {
  std::string text(kVersion);
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

Status ReadOwner(Env* env, const std::string& path, PathOwner* owner) {
  const std::string file = path + "/" + kOwnerFileName;
  Status status = env->FileExists(file);
  if (!status.ok()) return status;
  std::string bytes;
  status = rocksdb::ReadFileToString(env, file, &bytes);
  if (!status.ok() || Decode(bytes, owner)) return status;
  return Status::Corruption(
      "rocksync: " + file + ", which says whose files are there, is damaged",
      "if they are those of the database that is being opened, remove it");
}

Status WriteOwner(Env* env, const PathOwner& owner) {
  return ReplaceFile(env, owner.path.path, kOwnerFileName, Encode(owner));
}

}  // namespace rocksync
