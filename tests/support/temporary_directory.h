// A directory of a test's or benchmark's own, which is gone afterwards.

#ifndef ROCKSYNC_TESTS_SUPPORT_TEMPORARY_DIRECTORY_H_
#define ROCKSYNC_TESTS_SUPPORT_TEMPORARY_DIRECTORY_H_

#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace rocksync {

class TemporaryDirectory {
 public:
  // Below the system's directory for temporary files, or another one. Without
  // one the process ends: nothing that follows could say anything.
  TemporaryDirectory()
      : TemporaryDirectory(std::filesystem::temp_directory_path()) {}
  explicit TemporaryDirectory(const std::filesystem::path& parent)
      : path_((parent / "rocksync_XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) {
      std::perror(path_.c_str());
      std::abort();
    }
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!keep_) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }

  // It stays, to look into a failure.
  void Keep() { keep_ = true; }

 private:
  std::string path_;
  bool keep_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_TEMPORARY_DIRECTORY_H_
