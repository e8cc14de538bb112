#include "replication/store/format/current_manifest.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string_view>

#include "rocksdb/metadata.h"
#include "sketch/element/coding.h"
#include "sketch/element/sha256.h"

namespace rocksync {

std::string CurrentManifest(rocksdb::Env* env, const std::string& name) {
  std::string manifest;
  return CurrentManifest(env, name, &manifest).ok() ? manifest : "";
}

rocksdb::Status CurrentManifest(rocksdb::Env* env, const std::string& name,
                                std::string* manifest) {
  manifest->clear();
  const std::string current = name + "/CURRENT";
  const rocksdb::Status status = env->FileExists(current);
  return status.ok() ? rocksdb::ReadFileToString(env, current, manifest)
                     : status;
}

std::string ManifestFile(std::string manifest) {
  while (manifest.ends_with('\n')) manifest.pop_back();
  return manifest;
}

uint64_t ManifestNumber(const std::string& manifest) {
  const size_t dash = manifest.rfind('-');
  if (dash == std::string::npos) return 0;
  return std::strtoull(manifest.c_str() + dash + 1, nullptr, 10);
}

uint64_t NewestManifest(rocksdb::Env* env, const std::string& name) {
  std::vector<std::string> files;
  env->GetChildren(name, &files).PermitUncheckedError();  // then none is known
  uint64_t newest = 0;
  for (const std::string& file : files) {
    if (!file.starts_with("MANIFEST-")) continue;
    newest = std::max(newest, ManifestNumber(file));
  }
  return newest;
}

uint64_t FilesOf(rocksdb::DB* db,
                 const std::vector<rocksdb::ColumnFamilyHandle*>& families,
                 uint64_t last_file, uint64_t* largest) {
  std::set<std::array<uint64_t, 3>> files;
  *largest = 0;
  for (rocksdb::ColumnFamilyHandle* family : families) {
    rocksdb::ColumnFamilyMetaData metadata;
    db->GetColumnFamilyMetaData(family, &metadata);
    for (const rocksdb::LevelMetaData& level : metadata.levels) {
      for (const rocksdb::SstFileMetaData& file : level.files) {
        if (file.file_number > last_file) continue;
        files.insert({family->GetID(), file.file_number, file.size});
        *largest = std::max(*largest, file.file_number);
      }
    }
  }
  std::string bytes;
  for (const auto& file : files) {
    for (const uint64_t number : file) PutFixed64(&bytes, number);
  }
  const Sha256Digest digest = Sha256({bytes});
  std::string_view start(reinterpret_cast<const char*>(digest.data()),
                         digest.size());
  uint64_t files_hash = 0;
  if (!GetFixed64(&start, &files_hash)) return 0;
  return files_hash;
}

}  // namespace rocksync
