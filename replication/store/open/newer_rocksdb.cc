#include "replication/store/open/newer_rocksdb.h"

#include <array>
#include <charconv>
#include <memory>
#include <system_error>

#include "replication/base/rocksdb_errors.h"
#include "rocksdb/utilities/options_util.h"
#include "rocksdb/version.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::Status;
using RocksDBVersion = std::array<unsigned, 3>;

constexpr RocksDBVersion kOurs = {ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH};

// How much of the beginning of an OPTIONS file holds the version.
constexpr size_t kHeadBytes = 4096;

bool ParseVersion(std::string_view text, RocksDBVersion* version) {
  for (size_t i = 0; i < version->size(); ++i) {
    if (i > 0) {
      if (text.empty() || text.front() != '.') return false;
      text.remove_prefix(1);
    }
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), (*version)[i]);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  return true;
}

std::string Text(const RocksDBVersion& version) {
  return std::to_string(version[0]) + "." + std::to_string(version[1]) + "." +
         std::to_string(version[2]);
}

// Reads the version in an OPTIONS file. False: it has none.
bool VersionIn(std::string_view text, RocksDBVersion* version) {
  constexpr std::string_view kKey = "rocksdb_version=";
  const size_t at = text.substr(0, kHeadBytes).find(kKey);
  return at != std::string_view::npos &&
         ParseVersion(text.substr(at + kKey.size()), version);
}

// Reads the version in the latest OPTIONS file. False: there is none.
bool VersionOf(Env* env, const std::string& directory,
               RocksDBVersion* version) {
  std::string name;
  std::unique_ptr<rocksdb::SequentialFile> file;
  if (!rocksdb::GetLatestOptionsFileName(directory, env, &name).ok() ||
      !env->NewSequentialFile(directory + "/" + name, &file, {}).ok()) {
    return false;
  }
  std::array<char, kHeadBytes> bytes;
  rocksdb::Slice head;
  if (!file->Read(bytes.size(), &head, bytes.data()).ok()) return false;
  return VersionIn(head.ToStringView(), version);
}

// Returns whether a version is newer than this program's, patch releases apart,
// which read one another's files.
bool IsNewerRelease(RocksDBVersion version) {
  version[2] = 0;
  return version > kOurs;
}

std::string LastOpenedBy(const std::string& directory,
                         const RocksDBVersion& version) {
  return "rocksync: " + directory + " was last opened by RocksDB " +
         Text(version) + ", and this program has " + Text(kOurs);
}

}  // namespace

Status NameNewerRocksDB(const Status& status, Env* env,
                        const std::string& directory) {
  RocksDBVersion version{};
  if (!(status.IsCorruption() || IsUnknownTableFormat(status)) ||
      IsOurError(status) || !VersionOf(env, directory, &version) ||
      version <= kOurs) {
    return status;
  }
  return Status::NotSupported(
      LastOpenedBy(directory, version) + ", which cannot read it",
      "nothing is damaged by that; use a program with RocksDB " +
          Text(version) + " or newer: " + status.ToString());
}

Status CheckIsNotNewer(Env* env, const std::string& directory) {
  RocksDBVersion version{};
  if (!VersionOf(env, directory, &version) || !IsNewerRelease(version)) {
    return Status::OK();
  }
  return Status::NotSupported(
      LastOpenedBy(directory, version) + ", which may not read it",
      "use a program with RocksDB " + Text(version) + " or newer");
}

bool IsOfNewerRocksDB(std::string_view options_file,
                      std::string_view than_options_file) {
  RocksDBVersion version{};
  RocksDBVersion than{};
  return VersionIn(options_file, &version) &&
         VersionIn(than_options_file, &than) && version > than;
}

Status CheckSourceIsNotNewer(std::string_view options_file) {
  RocksDBVersion version{};
  if (!VersionIn(options_file, &version) || !IsNewerRelease(version)) {
    return Status::OK();
  }
  const std::string least =
      std::to_string(version[0]) + "." + std::to_string(version[1]);
  return Status::NotSupported(
      "rocksync: the source runs with RocksDB " + least +
          ", and this program has " + Text(kOurs) +
          ", which may not read its files",
      "copy with a program that has RocksDB " + least +
          " or newer; or let sessions bring the pairs, to which the version "
          "does not matter");
}

}  // namespace rocksync
