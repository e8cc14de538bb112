#include "tests/crash/lost_power.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <sstream>
#include <utility>

#include "rocksdb/file_system.h"

namespace rocksync::crash {
namespace {

using rocksdb::FileOptions;
using rocksdb::FSDirectory;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

using Tell = std::function<void(const std::string& line)>;

class TellingFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  TellingFile(std::unique_ptr<FSWritableFile>&& file, std::string name,
              Tell tell)
      : FSWritableFileOwnerWrapper(std::move(file)),
        name_(std::move(name)),
        tell_(std::move(tell)) {
    tell_("created " + name_);
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
    return Told(size, FSWritableFileOwnerWrapper::Sync(options, debug));
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    const uint64_t size = size_;
    return Told(size, FSWritableFileOwnerWrapper::Fsync(options, debug));
  }

 private:
  IOStatus Told(uint64_t size, IOStatus status) {
    if (status.ok()) tell_("synced " + std::to_string(size) + " " + name_);
    return status;
  }

  const std::string name_;
  const Tell tell_;
  std::atomic<uint64_t> size_{0};
};

class TellingDirectory final : public rocksdb::FSDirectoryWrapper {
 public:
  TellingDirectory(std::unique_ptr<FSDirectory>&& directory, std::string name,
                   Tell tell)
      : FSDirectoryWrapper(std::move(directory)),
        name_(std::move(name)),
        tell_(std::move(tell)) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Told(FSDirectoryWrapper::Fsync(options, debug));
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions& why) override {
    return Told(FSDirectoryWrapper::FsyncWithDirOptions(options, debug, why));
  }

 private:
  IOStatus Told(IOStatus status) {
    if (status.ok()) tell_("named " + name_);
    return status;
  }

  const std::string name_;
  const Tell tell_;
};

class TellingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit TellingFileSystem(Tell tell)
      : FileSystemWrapper(rocksdb::FileSystem::Default()),
        tell_(std::move(tell)) {}
  const char* Name() const override { return "TellingFileSystem"; }

  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file,
                           IODebugContext* debug) override {
    const IOStatus status =
        FileSystemWrapper::NewWritableFile(name, options, file, debug);
    if (status.ok()) {
      *file = std::make_unique<TellingFile>(std::move(*file), name, tell_);
    }
    return status;
  }
  IOStatus NewDirectory(const std::string& name, const IOOptions& options,
                        std::unique_ptr<FSDirectory>* directory,
                        IODebugContext* debug) override {
    const IOStatus status =
        FileSystemWrapper::NewDirectory(name, options, directory, debug);
    if (status.ok()) {
      *directory = std::make_unique<TellingDirectory>(std::move(*directory),
                                                      name, tell_);
    }
    return status;
  }
  IOStatus RenameFile(const std::string& from, const std::string& to,
                      const IOOptions& options,
                      IODebugContext* debug) override {
    // A rename is taken for durable at once. Then so are the names that came
    // before it: file systems keep the order of changes to a directory. Told
    // first, as the process may be killed right after the rename.
    tell_("named " + std::filesystem::path(to).parent_path().string());
    const IOStatus status =
        FileSystemWrapper::RenameFile(from, to, options, debug);
    if (status.ok()) tell_("renamed " + from + " " + to);
    return status;
  }

 private:
  const Tell tell_;
};

// The same whether a path names a directory with or without a final slash.
std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// RocksDB's own log, which nobody needs.
bool IsLog(const std::filesystem::path& name) {
  return name.filename().string().compare(0, 3, "LOG") == 0;
}

}  // namespace

std::unique_ptr<rocksdb::Env> NewTellingEnv(Tell tell) {
  return rocksdb::NewCompositeEnv(
      std::make_shared<TellingFileSystem>(std::move(tell)));
}

void DurableFiles::Note(const std::string& line) {
  std::istringstream in(line);
  std::string what, name;
  in >> what;
  if (what == "created") {
    in >> name;
    files_[name] = {};
  } else if (what == "synced") {
    uint64_t size = 0;
    in >> size >> name;
    files_[name].synced = std::max(files_[name].synced, size);
  } else if (what == "renamed") {
    std::string to;
    in >> name >> to;
    const auto file = files_.find(name);
    if (file == files_.end()) return;
    files_[to] = {file->second.synced, true};
    files_.erase(file);
  } else if (what == "named") {
    in >> name;
    const std::filesystem::path directory = WithoutSlash(name);
    for (auto& [file, durable] : files_) {
      if (std::filesystem::path(file).parent_path() == directory) {
        durable.named = true;
      }
    }
  }
}

uint64_t DurableFiles::CutFiles(Dice* dice) {
  uint64_t gone = 0;
  for (const auto& [name, durable] : files_) {
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(name, error);
    if (error) continue;  // removed
    // The disk may have written a part on its own account.
    const bool partly = dice->Below(3) == 0;
    if (!durable.named && !partly && !IsLog(name)) {
      std::filesystem::remove(name, error);
      if (!error) gone += size;
      continue;
    }
    if (size <= durable.synced) continue;
    uint64_t kept = durable.synced;
    if (partly) kept += dice->Below(static_cast<uint32_t>(size - kept));
    std::filesystem::resize_file(name, kept, error);
    if (!error) gone += size - kept;
  }
  files_.clear();
  return gone;
}

void DurableFiles::CopyDurable(const std::string& from,
                               const std::string& to) const {
  std::filesystem::create_directories(to);
  for (const auto& entry : std::filesystem::directory_iterator(from)) {
    const std::string name = entry.path().string();
    const auto durable = files_.find(name);
    if (durable != files_.end() && !durable->second.named) continue;
    const std::filesystem::path copy = to / entry.path().filename();
    std::error_code error;  // a file may just be removed
    std::filesystem::copy_file(name, copy, error);
    if (error || durable == files_.end()) continue;
    const uint64_t size = std::filesystem::file_size(copy);
    std::filesystem::resize_file(copy, std::min(size, durable->second.synced));
  }
}

}  // namespace rocksync::crash
