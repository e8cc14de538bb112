#include "replication/store/open/files_left.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "replication/store/format/current_manifest.h"
#include "replication/store/open/log_files.h"
#include "replication/store/open/remedies.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::Status;

std::string Bytes(uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

std::string WalDirOf(const rocksdb::DB& db) {
  const std::string wal_dir = db.GetDBOptions().wal_dir;
  return wal_dir.empty() ? db.GetName() : wal_dir;
}

// Returns the XXH3-64 of the first `size` bytes of a file; 0 if it does not
// read, or is shorter. (One file in 2^64 has the hash 0, too, and is not
// compared.)
uint64_t HashOfFile(Env* env, const std::string& path, uint64_t size) {
  constexpr size_t kBlock = 1 << 20;
  std::unique_ptr<rocksdb::SequentialFile> file;
  if (!env->NewSequentialFile(path, &file, rocksdb::EnvOptions()).ok()) {
    return 0;
  }
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(
      XXH3_createState(), XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::string scratch(kBlock, '\0');
  while (size > 0) {
    rocksdb::Slice block;
    const size_t wanted = std::min<uint64_t>(kBlock, size);
    if (!file->Read(wanted, &block, scratch.data()).ok() || block.empty()) {
      return 0;
    }
    XXH3_64bits_update(state.get(), block.data(), block.size());
    size -= block.size();
  }
  return XXH3_64bits_digest(state.get());
}

// Returns what is wrong with the file; empty if it is there and begins as it
// did.
std::string WhatIsWrong(Env* env, const std::string& path,
                        const FileLeft& file) {
  if (env->FileExists(path).IsNotFound()) return path + " is not there";
  uint64_t bytes = 0;
  if (!env->GetFileSize(path, &bytes).ok()) return "";
  if (bytes < file.least_bytes) {
    return path + " has " + Bytes(bytes) + ", and was closed with " +
           Bytes(file.least_bytes);
  }
  const bool same =
      file.hash == 0 || HashOfFile(env, path, file.least_bytes) == file.hash;
  return same ? "" : path + " is damaged: its bytes have changed";
}

// Returns a log of a later opening than the one whose close the marker tells
// of; empty if there is none. An opening that was interrupted before its
// MANIFEST was in use leaves one log, whose number is smaller than the
// MANIFEST's, with an empty batch in it at most. The first log of any other
// opening has the index's records, and the logs that follow have larger
// numbers.
std::string LaterLog(Env* env, const Marker& marker,
                     const std::string& directory, const std::string& wal_dir) {
  constexpr uint64_t kMaxWithoutBatch = 128;
  const FileLeft& last = marker.files.back();
  std::set<std::string> logs;
  // Nothing is known of logs after a kill, nor of their sizes where RocksDB
  // recycles or maps them.
  if (last.least_bytes == 0 || marker.files.size() == 1 ||
      !ListLogFiles(env, wal_dir, &logs).ok()) {
    return "";
  }
  const uint64_t newest = NewestManifest(env, directory);
  const bool newer_manifest =
      newest > ManifestNumber(marker.files.front().name);
  for (const std::string& log : logs) {
    const std::string path = wal_dir + "/" + log;
    uint64_t bytes = 0;
    if (LogNumber(log) > LogNumber(last.name) &&
        env->GetFileSize(path, &bytes).ok() &&
        (bytes > kMaxWithoutBatch ||
         (newer_manifest && LogNumber(log) > newest))) {
      return path;
    }
  }
  return "";
}

Status ShorterManifest(const std::string& directory, const std::string& wrong) {
  return Status::Aborted(
      "rocksync: the MANIFEST of " + directory +
          ", RocksDB's list of the files of a database, is not as it was "
          "left: " +
          wrong,
      std::string("if a checkpoint or backup was put back over it, ") +
          kOpenAsNewReplica +
          "; else it is damaged: replace the replica by a new, empty one that "
          "peers fill, or, if this one may hold something alone, `rocksync "
          "repair`, which makes a new list in a copy of the directory, and "
          "open that");
}

Status PutOverNewer(const std::string& directory, const std::string& log) {
  return Status::Aborted(
      "rocksync: " + directory +
          " is not in the state that it was left in: an older one was put over "
          "a newer one, whose log is there: " +
          log,
      std::string("put the whole of one state there, into an empty directory; "
                  "or ") +
          kOpenAsNewReplica);
}

Status LostLog(const std::string& directory, const std::string& wrong) {
  return Status::Aborted(
      "rocksync: " + directory + " has lost a part of its log: " + wrong,
      std::string("bring the file back, if there is one; else replace the "
                  "replica by a new, empty one that peers fill; or, if this "
                  "one may hold something alone, ") +
          kOpenAsNewReplica);
}

Status LeftAfterLoss(const std::string& directory) {
  return Status::Aborted(
      "rocksync: " + directory +
          " is what was left after a loss of files, and has not become a new "
          "replica since",
      std::string(kOpenAsNewReplica) +
          ", or, if that says that the index is lost, with both this and "
          "adopt_after_index_loss; or replace the replica by a new, empty one "
          "that peers fill");
}

}  // namespace

std::vector<FileLeft> ManifestLeft(rocksdb::DB* db) {
  FileLeft file = {ManifestFile(CurrentManifest(db->GetEnv(), db->GetName()))};
  const std::string path = db->GetName() + "/" + file.name;
  if (file.name.empty() ||
      !db->GetEnv()->GetFileSize(path, &file.least_bytes).ok()) {
    return {};
  }
  // RocksDB cuts a mapped file to its size when it closes it.
  if (db->GetDBOptions().allow_mmap_writes) file.least_bytes = 0;
  return {file};
}

std::vector<FileLeft> FilesLeft(rocksdb::DB* db) {
  std::vector<FileLeft> files = ManifestLeft(db);
  uint64_t least = 0;
  std::set<std::string> logs;
  const std::string wal_dir = WalDirOf(*db);
  if (files.empty() ||
      !db->GetIntProperty(rocksdb::DB::Properties::kMinLogNumberToKeep,
                          &least) ||
      !ListLogFiles(db->GetEnv(), wal_dir, &logs).ok()) {
    return files;
  }
  std::vector<std::pair<uint64_t, std::string>> needed;
  for (const std::string& log : logs) {
    const uint64_t number = LogNumber(log);
    if (number >= least) needed.emplace_back(number, log);
  }
  std::sort(needed.begin(), needed.end());
  // A recycled file keeps its old size for a while; a mapped one is cut to its
  // size when it is closed. All of any other last log is there, since the seal
  // is synced.
  const bool sizes_count = db->GetDBOptions().recycle_log_file_num == 0 &&
                           !db->GetDBOptions().allow_mmap_writes;
  for (const auto& [number, log] : needed) {
    FileLeft file = {log};
    const std::string path = wal_dir + "/" + log;
    if (sizes_count) {
      if (!db->GetEnv()->GetFileSize(path, &file.least_bytes).ok()) continue;
      file.hash = HashOfFile(db->GetEnv(), path, file.least_bytes);
    }
    files.push_back(std::move(file));
  }
  return files;
}

bool IsManifestLeft(const Marker& marker, const std::string& manifest) {
  return !marker.files.empty() &&
         marker.files.front().name == ManifestFile(manifest);
}

std::string LostLogOf(Env* env, const Marker& marker,
                      const std::string& wal_dir, const std::string& manifest) {
  // If CURRENT is not there, nobody has opened the database since.
  if (!manifest.empty() && !IsManifestLeft(marker, manifest)) return "";
  // After a kill nothing is known of the log except that there was one: RocksDB
  // begins it in the opening that the MANIFEST is of.
  std::set<std::string> logs;
  if (marker.files.size() == 1 && ListLogFiles(env, wal_dir, &logs).ok() &&
      logs.empty()) {
    return "there is no *.log in " + wal_dir + ", and there was one" +
           (marker.wal_dir.empty() || marker.wal_dir == wal_dir
                ? ""
                : ", in " + marker.wal_dir);
  }
  for (size_t i = 1; i < marker.files.size(); ++i) {
    const FileLeft& file = marker.files[i];
    const std::string wrong = WhatIsWrong(env, wal_dir + "/" + file.name, file);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

Status CheckFilesLeft(Env* env, const Marker& marker,
                      const std::string& directory, const std::string& wal_dir,
                      const std::string& manifest, Loss* loss) {
  const Loss of_log = marker.index_in_tables ? Loss::kLog : Loss::kState;
  *loss = Loss::kNone;
  if (marker.rest) {
    *loss = of_log;
    return LeftAfterLoss(directory);
  }
  if (!IsManifestLeft(marker, manifest)) return Status::OK();
  const FileLeft& list = marker.files.front();
  const std::string wrong = WhatIsWrong(env, directory + "/" + list.name, list);
  if (!wrong.empty()) {
    *loss = Loss::kState;
    return ShorterManifest(directory, wrong);
  }
  const std::string lost = LostLogOf(env, marker, wal_dir, manifest);
  if (!lost.empty()) {
    *loss = of_log;
    return LostLog(directory, lost);
  }
  const std::string later = LaterLog(env, marker, directory, wal_dir);
  if (later.empty()) return Status::OK();
  *loss = Loss::kState;
  return PutOverNewer(directory, later);
}

Status NoteSalvage(Env* env, const std::string& directory, Loss loss) {
  Marker marker;
  const Status status = ReadMarker(env, directory, &marker);
  if (!status.ok()) return status;
  marker.rest = true;
  marker.index_in_tables = loss == Loss::kLog;
  return WriteMarker(env, directory, marker);
}

}  // namespace rocksync
