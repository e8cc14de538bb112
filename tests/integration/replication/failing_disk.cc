#include "tests/integration/replication/failing_disk.h"

#include <string>
#include <utility>

#include "rocksdb/file_system.h"

namespace rocksync {
namespace {

using rocksdb::FileOptions;
using rocksdb::FSRandomAccessFile;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

struct SharedState {
  std::atomic<DiskState> disk{DiskState::kGood};
  std::atomic<uint64_t> reads{0};
};
using State = std::shared_ptr<SharedState>;

bool IsLog(const std::string& name) { return name.ends_with(".log"); }

// What the POSIX file system answers.
IOStatus StatusOf(DiskState state, const std::string& name) {
  const std::string what = "While appending to file: " + name;
  switch (state) {
    case DiskState::kGood:
    case DiskState::kUnreadable:
    case DiskState::kShortReads:
    case DiskState::kFillsUpWithTheLog:
    case DiskState::kNoLogSync:
    case DiskState::kLittleRoom:
      return IOStatus::OK();
    case DiskState::kFull:
      return IOStatus::NoSpace(what, "No space left on device");
    case DiskState::kBroken:
      return IOStatus::IOError(what, "Input/output error");
    case DiskState::kNoLog:
      return IsLog(name) ? IOStatus::IOError(what, "Input/output error")
                         : IOStatus::OK();
  }
  return IOStatus::OK();
}

class FailingFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FailingFile(std::unique_ptr<FSWritableFile>&& file, std::string name,
              State state)
      : FSWritableFileOwnerWrapper(std::move(file)),
        name_(std::move(name)),
        state_(std::move(state)) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  IODebugContext* debug) override {
    IOStatus status = Answer(data.size());
    return status.ok()
               ? FSWritableFileOwnerWrapper::Append(data, options, debug)
               : status;
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& checksum,
                  IODebugContext* debug) override {
    IOStatus status = Answer(data.size());
    return status.ok() ? FSWritableFileOwnerWrapper::Append(data, options,
                                                            checksum, debug)
                       : status;
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    if (state_->disk == DiskState::kNoLogSync && IsLog(name_)) {
      return IOStatus::IOError("While fdatasync " + name_,
                               "Input/output error");
    }
    return FSWritableFileOwnerWrapper::Sync(options, debug);
  }

 private:
  IOStatus Answer(size_t bytes) {
    constexpr size_t kSmall = size_t{64} << 10;
    if (state_->disk == DiskState::kLittleRoom) {
      return bytes <= kSmall ? IOStatus::OK()
                             : StatusOf(DiskState::kFull, name_);
    }
    DiskState fills_up = DiskState::kFillsUpWithTheLog;
    if (IsLog(name_)) {
      state_->disk.compare_exchange_strong(fills_up, DiskState::kFull);
    }
    return StatusOf(state_->disk, name_);
  }

  const std::string name_;
  const State state_;
};

class UnreadableFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  UnreadableFile(std::unique_ptr<FSRandomAccessFile>&& file, State state)
      : FSRandomAccessFileOwnerWrapper(std::move(file)),
        state_(std::move(state)) {}

  IOStatus Read(uint64_t offset, size_t size, const IOOptions& options,
                rocksdb::Slice* result, char* scratch,
                IODebugContext* debug) const override {
    const DiskState state = state_->disk;
    ++state_->reads;
    if (state == DiskState::kUnreadable) {
      return IOStatus::IOError("While reading", "Input/output error");
    }
    return FSRandomAccessFileOwnerWrapper::Read(
        offset, state == DiskState::kShortReads ? size / 2 : size, options,
        result, scratch, debug);
  }

 private:
  const State state_;
};

class FailingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit FailingFileSystem(State state)
      : FileSystemWrapper(rocksdb::FileSystem::Default()),
        state_(std::move(state)) {}
  const char* Name() const override { return "FailingFileSystem"; }

  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file,
                           IODebugContext* debug) override {
    return Wrap(FileSystemWrapper::NewWritableFile(name, options, file, debug),
                name, file);
  }
  IOStatus ReopenWritableFile(const std::string& name,
                              const FileOptions& options,
                              std::unique_ptr<FSWritableFile>* file,
                              IODebugContext* debug) override {
    return Wrap(
        FileSystemWrapper::ReopenWritableFile(name, options, file, debug), name,
        file);
  }
  IOStatus ReuseWritableFile(const std::string& name, const std::string& old,
                             const FileOptions& options,
                             std::unique_ptr<FSWritableFile>* file,
                             IODebugContext* debug) override {
    return Wrap(
        FileSystemWrapper::ReuseWritableFile(name, old, options, file, debug),
        name, file);
  }
  IOStatus NewRandomAccessFile(const std::string& name,
                               const FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* file,
                               IODebugContext* debug) override {
    IOStatus made =
        FileSystemWrapper::NewRandomAccessFile(name, options, file, debug);
    if (made.ok()) {
      *file = std::make_unique<UnreadableFile>(std::move(*file), state_);
    }
    return made;
  }
  // RocksDB waits for space before it goes on by itself.
  IOStatus GetFreeSpace(const std::string& path, const IOOptions& options,
                        uint64_t* free, IODebugContext* debug) override {
    if (state_->disk != DiskState::kFull) {
      return FileSystemWrapper::GetFreeSpace(path, options, free, debug);
    }
    *free = 0;
    return IOStatus::OK();
  }

 private:
  IOStatus Wrap(IOStatus made, const std::string& name,
                std::unique_ptr<FSWritableFile>* file) {
    if (made.ok()) {
      *file = std::make_unique<FailingFile>(std::move(*file), name, state_);
    }
    return made;
  }

  const State state_;
};

}  // namespace

FailingDisk MakeFailingDisk() {
  FailingDisk disk;
  const auto state = std::make_shared<SharedState>();
  disk.state = {state, &state->disk};
  disk.reads = {state, &state->reads};
  disk.env =
      rocksdb::NewCompositeEnv(std::make_shared<FailingFileSystem>(state));
  return disk;
}

}  // namespace rocksync
