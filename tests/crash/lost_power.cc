#include "tests/crash/lost_power.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <sstream>
#include <utility>

#include "rocksdb/file_system.h"
#include "tests/crash/journal.h"

namespace rocksync::crash {
namespace {

using rocksdb::FileOptions;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class TellingFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  TellingFile(std::unique_ptr<FSWritableFile>&& file, std::string name)
      : FSWritableFileOwnerWrapper(std::move(file)), name_(std::move(name)) {
    Say("created " + name_);
  }

  using FSWritableFileOwnerWrapper::Append;
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  IODebugContext* debug) override {
    const IOStatus status =
        FSWritableFileOwnerWrapper::Append(data, options, debug);
    if (status.ok()) size_ += data.size();
    return status;
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& checksum,
                  IODebugContext* debug) override {
    const IOStatus status =
        FSWritableFileOwnerWrapper::Append(data, options, checksum, debug);
    if (status.ok()) size_ += data.size();
    return status;
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    const uint64_t size = size_;  // an Append may run beside a Sync
    return Tell(size, FSWritableFileOwnerWrapper::Sync(options, debug));
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    const uint64_t size = size_;
    return Tell(size, FSWritableFileOwnerWrapper::Fsync(options, debug));
  }

 private:
  IOStatus Tell(uint64_t size, IOStatus status) {
    if (status.ok()) Say("synced " + std::to_string(size) + " " + name_);
    return status;
  }

  const std::string name_;
  std::atomic<uint64_t> size_{0};
};

class TellingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  TellingFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "TellingFileSystem"; }

  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file,
                           IODebugContext* debug) override {
    const IOStatus status =
        FileSystemWrapper::NewWritableFile(name, options, file, debug);
    if (status.ok()) {
      *file = std::make_unique<TellingFile>(std::move(*file), name);
    }
    return status;
  }
  IOStatus RenameFile(const std::string& from, const std::string& to,
                      const IOOptions& options,
                      IODebugContext* debug) override {
    const IOStatus status =
        FileSystemWrapper::RenameFile(from, to, options, debug);
    if (status.ok()) Say("renamed " + from + " " + to);
    return status;
  }
};

}  // namespace

std::unique_ptr<rocksdb::Env> NewTellingEnv() {
  return rocksdb::NewCompositeEnv(std::make_shared<TellingFileSystem>());
}

void SyncedSizes::Note(const std::string& line) {
  std::istringstream in(line);
  std::string what, name;
  in >> what;
  if (what == "created") {
    in >> name;
    sizes_[name] = 0;
  } else if (what == "synced") {
    uint64_t size = 0;
    in >> size >> name;
    sizes_[name] = std::max(sizes_[name], size);
  } else if (what == "renamed") {
    std::string to;
    in >> name >> to;
    const auto file = sizes_.find(name);
    if (file == sizes_.end()) return;
    sizes_[to] = file->second;
    sizes_.erase(file);
  }
}

uint64_t SyncedSizes::CutFiles(Dice* dice) {
  uint64_t gone = 0;
  for (const auto& [name, synced] : sizes_) {
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(name, error);
    if (error || size <= synced) continue;  // removed, or all of it durable
    uint64_t kept = synced;
    // The disk may have written a part on its own account.
    if (dice->Below(3) == 0) {
      kept += dice->Below(static_cast<uint32_t>(size - synced));
    }
    std::filesystem::resize_file(name, kept, error);
    if (!error) gone += size - kept;
  }
  sizes_.clear();
  return gone;
}

}  // namespace rocksync::crash
