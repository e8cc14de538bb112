// A directory that is gone after the test.

#ifndef ROCKSYNC_TESTS_UNIT_REPLICATION_TRANSPORT_SCRATCH_H_
#define ROCKSYNC_TESTS_UNIT_REPLICATION_TRANSPORT_SCRATCH_H_

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace rocksync {

class Scratch {
 public:
  Scratch() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "rocksync-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_REPLICATION_TRANSPORT_SCRATCH_H_
