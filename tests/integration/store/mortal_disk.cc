#include "tests/integration/store/mortal_disk.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/file_system.h"
#include "rocksdb/system_clock.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

using rocksdb::FileOptions;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

std::string DirectoryOf(const std::string& name) {
  return fs::path(name).lexically_normal().parent_path().string();
}

}  // namespace

struct MortalDisk::State {
  // A name that changed and is not durable yet: what it stood for before.
  struct Change {
    std::string name;
    std::string before;  // where that is kept; empty: nothing
  };

  bool Alive() const { return left_ > 0; }
  // One operation more that makes something durable, or may.
  bool Allows() {
    uint64_t left = left_.load();
    while (left > 0 && !left_.compare_exchange_weak(left, left - 1)) {
    }
    return left > 0;
  }
  IOStatus Dead() const { return IOStatus::IOError("the power is gone"); }

  // REQUIRES: mutex is held.
  void Keep(const std::string& name) {
    Change change{name, ""};
    std::error_code error;
    if (fs::exists(name, error)) {
      change.before = DirectoryOf(name) + "/kept" + std::to_string(++kept_);
      fs::create_hard_link(name, change.before, error);
    }
    changes.push_back(std::move(change));
  }

  std::atomic<uint64_t> left_{UINT64_MAX};
  std::mutex mutex;
  std::map<std::string, uint64_t> synced;  // bytes, by name
  std::vector<Change> changes;             // the oldest first
  uint64_t kept_ = 0;
};

class MortalDisk::File final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  File(std::unique_ptr<FSWritableFile>&& file, std::shared_ptr<State> state,
       std::string name)
      : FSWritableFileOwnerWrapper(std::move(file)),
        state_(std::move(state)),
        name_(std::move(name)) {}

  using FSWritableFileOwnerWrapper::Append;
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  IODebugContext* debug) override {
    if (!state_->Alive()) return state_->Dead();
    const IOStatus status =
        FSWritableFileOwnerWrapper::Append(data, options, debug);
    if (status.ok()) size_ += data.size();
    return status;
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& checksum,
                  IODebugContext* debug) override {
    if (!state_->Alive()) return state_->Dead();
    const IOStatus status =
        FSWritableFileOwnerWrapper::Append(data, options, checksum, debug);
    if (status.ok()) size_ += data.size();
    return status;
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return Note(); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return Note(); }
  IOStatus Truncate(uint64_t size, const IOOptions& options,
                    IODebugContext* debug) override {
    if (!state_->Alive()) return state_->Dead();
    return FSWritableFileOwnerWrapper::Truncate(size, options, debug);
  }

 private:
  IOStatus Note() {
    const uint64_t size = size_;
    if (!state_->Allows()) return state_->Dead();
    std::lock_guard lock(state_->mutex);
    state_->synced[name_] = size;
    return IOStatus::OK();
  }

  const std::shared_ptr<State> state_;
  const std::string name_;
  std::atomic<uint64_t> size_{0};
};

class MortalDisk::Directory final : public rocksdb::FSDirectory {
 public:
  Directory(std::string name, std::shared_ptr<State> state)
      : name_(fs::path(name + "/x").lexically_normal().parent_path()),
        state_(std::move(state)) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    if (!state_->Allows()) return state_->Dead();
    std::lock_guard lock(state_->mutex);
    std::erase_if(state_->changes, [this](const State::Change& change) {
      if (DirectoryOf(change.name) != name_) return false;
      std::error_code error;
      if (!change.before.empty()) fs::remove(change.before, error);
      return true;
    });
    return IOStatus::OK();
  }

 private:
  const std::string name_;
  const std::shared_ptr<State> state_;
};

class MortalDisk::FileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit FileSystem(std::shared_ptr<State> state)
      : FileSystemWrapper(rocksdb::FileSystem::Default()),
        state_(std::move(state)) {}
  const char* Name() const override { return "MortalDisk"; }

  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file,
                           IODebugContext* debug) override {
    if (!state_->Alive()) return state_->Dead();
    const IOStatus status =
        FileSystemWrapper::NewWritableFile(name, options, file, debug);
    if (!status.ok()) return status;
    *file = std::make_unique<File>(std::move(*file), state_, name);
    std::lock_guard lock(state_->mutex);
    state_->synced[name] = 0;
    return status;
  }
  IOStatus NewDirectory(const std::string& name, const IOOptions&,
                        std::unique_ptr<rocksdb::FSDirectory>* result,
                        IODebugContext*) override {
    *result = std::make_unique<Directory>(name, state_);
    return IOStatus::OK();
  }
  IOStatus RenameFile(const std::string& from, const std::string& to,
                      const IOOptions& options,
                      IODebugContext* debug) override {
    if (!state_->Allows()) return state_->Dead();
    std::lock_guard lock(state_->mutex);
    state_->Keep(to);
    const IOStatus status =
        FileSystemWrapper::RenameFile(from, to, options, debug);
    const auto file = state_->synced.find(from);
    if (!status.ok() || file == state_->synced.end()) return status;
    state_->synced[to] = file->second;
    state_->synced.erase(from);
    return status;
  }
  IOStatus DeleteFile(const std::string& name, const IOOptions& options,
                      IODebugContext* debug) override {
    if (!state_->Allows()) return state_->Dead();
    std::lock_guard lock(state_->mutex);
    state_->Keep(name);
    return FileSystemWrapper::DeleteFile(name, options, debug);
  }

 private:
  const std::shared_ptr<State> state_;
};

// RocksDB rests for a second after a compaction or flush that failed. Of a dead
// disk nothing else is to be expected.
class MortalDisk::Clock final : public rocksdb::SystemClockWrapper {
 public:
  Clock() : SystemClockWrapper(rocksdb::SystemClock::Default()) {}
  const char* Name() const override { return "MortalDisk"; }
  void SleepForMicroseconds(int micros) override {
    SystemClockWrapper::SleepForMicroseconds(std::min(micros, 1000));
  }
};

class MortalDisk::Machine final : public rocksdb::EnvWrapper {
 public:
  explicit Machine(const std::shared_ptr<State>& state)
      : EnvWrapper(
            rocksdb::NewCompositeEnv(std::make_shared<FileSystem>(state))) {
    // Block caches keep a pointer to it, so it is never destroyed.
    static const auto* const clock =
        new std::shared_ptr<rocksdb::SystemClock>(std::make_shared<Clock>());
    system_clock_ = *clock;
  }
};

MortalDisk::MortalDisk()
    : state_(std::make_shared<State>()),
      env_(std::make_unique<Machine>(state_)) {}

MortalDisk::~MortalDisk() = default;

void MortalDisk::DieAfter(uint64_t operations) { state_->left_ = operations; }

bool MortalDisk::dead() const { return state_->left_ == 0; }

void MortalDisk::LosePower() {
  std::lock_guard lock(state_->mutex);
  std::error_code error;
  // Sizes first: what a name stood for before has one of its own.
  for (const auto& [name, size] : state_->synced) {
    if (fs::file_size(name, error) > size && !error) {
      fs::resize_file(name, size, error);
    }
  }
  while (!state_->changes.empty()) {
    const State::Change change = std::move(state_->changes.back());
    state_->changes.pop_back();
    fs::remove(change.name, error);
    if (!change.before.empty()) fs::rename(change.before, change.name, error);
  }
  state_->synced.clear();
}

}  // namespace rocksync
