// What files hold, as tests compare and search it.

#ifndef ROCKSYNC_TESTS_SUPPORT_FILE_CONTENT_H_
#define ROCKSYNC_TESTS_SUPPORT_FILE_CONTENT_H_

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace rocksync {

// Nothing of a file that cannot be read.
inline std::string FileContent(const std::filesystem::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

// By the name of each file in `directory`; of a database, without RocksDB's
// info log and lock, which any opening changes.
inline std::map<std::string, std::string> ContentOfFiles(
    const std::filesystem::path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    const std::string name = file.path().filename();
    if (name.starts_with("LOG") || name == "LOCK") continue;
    files[name] = FileContent(file.path());
  }
  return files;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_FILE_CONTENT_H_
