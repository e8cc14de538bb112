#include "tests/support/forgetful_disk.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace rocksync {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

struct Contents {
  std::string bytes;
  size_t synced = 0;
};

using Entry = std::shared_ptr<Contents>;
using Entries = std::map<std::string, Entry>;

// What a call changed in a directory: the names, and what they stood for. Null:
// nothing. Or a directory's name, `from` until then.
struct Change {
  std::vector<std::pair<std::string, Entry>> names;
  std::string from;
  std::string to;
};

std::string DirectoryOf(const std::string& name) {
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? "" : name.substr(0, slash);
}

// Without doubled and trailing slashes.
std::string Plain(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    if (c == '/' && !plain.empty() && plain.back() == '/') continue;
    plain.push_back(c);
  }
  if (plain.size() > 1 && plain.back() == '/') plain.pop_back();
  return plain;
}

bool IsIn(const std::string& name, const std::string& directory) {
  return name.compare(0, directory.size(), directory) == 0 &&
         (name.size() == directory.size() || name[directory.size()] == '/');
}

// `name` once the directory `from` is called `to`.
std::string Renamed(const std::string& name, const std::string& from,
                    const std::string& to) {
  return IsIn(name, from) ? to + name.substr(from.size()) : name;
}

bool EndsIn(std::string_view name, std::string_view suffix) {
  return name.size() >= suffix.size() &&
         name.substr(name.size() - suffix.size()) == suffix;
}

}  // namespace

// What is on it.
struct ForgetfulDisk::Image {
  Entries entries;
  std::set<std::string> directories;
  std::map<std::string, std::vector<Change>> unsynced;  // by directory
  std::set<std::string> locked;

  void Remember(const std::string& name, std::vector<std::string> names) {
    Change change;
    for (std::string& each : names) {
      const auto entry = entries.find(each);
      change.names.emplace_back(
          std::move(each), entry == entries.end() ? nullptr : entry->second);
    }
    unsynced[DirectoryOf(name)].push_back(std::move(change));
  }
  void Set(const std::string& name, Entry entry) {
    if (entry == nullptr) {
      entries.erase(name);
    } else {
      entries[name] = std::move(entry);
    }
  }

  // A directory with all that is in it gets another name.
  void Move(const std::string& from, const std::string& to) {
    Entries moved;
    for (auto& [name, entry] : entries) moved[Renamed(name, from, to)] = entry;
    entries = std::move(moved);
    std::set<std::string> named;
    for (const std::string& name : directories) {
      named.insert(Renamed(name, from, to));
    }
    directories = std::move(named);
    std::map<std::string, std::vector<Change>> changed;
    for (auto& [directory, changes] : unsynced) {
      if (IsIn(directory, from)) {
        for (Change& change : changes) {
          for (auto& [name, before] : change.names) {
            name = Renamed(name, from, to);
          }
        }
      }
      changed[Renamed(directory, from, to)] = std::move(changes);
    }
    unsynced = std::move(changed);
  }
  void Undo(const Change& change) {
    for (const auto& [name, before] : change.names) Set(name, before);
    if (!change.from.empty()) Move(change.to, change.from);
  }
  // Of the changes of a directory as many as `keep` says of their count.
  void Forget(const std::string& directory,
              const std::function<size_t(size_t)>& keep) {
    std::vector<Change> changes = std::move(unsynced[directory]);
    unsynced.erase(directory);
    for (size_t kept = keep(changes.size()); changes.size() > kept;) {
      Undo(changes.back());
      changes.pop_back();
    }
  }

  // Files that have several names, or that a change remembers, stay one file.
  std::shared_ptr<Image> Clone() const {
    std::map<const Contents*, Entry> clones;
    const auto clone = [&clones](const Entry& entry) {
      if (entry == nullptr) return entry;
      Entry& made = clones[entry.get()];
      if (made == nullptr) made = std::make_shared<Contents>(*entry);
      return made;
    };
    auto image = std::make_shared<Image>(*this);
    for (auto& [name, entry] : image->entries) entry = clone(entry);
    for (auto& [directory, changes] : image->unsynced) {
      for (Change& change : changes) {
        for (auto& [name, before] : change.names) before = clone(before);
      }
    }
    return image;
  }
};

struct ForgetfulDisk::State {
  static constexpr uint64_t kNever = UINT64_MAX;

  mutable std::mutex mutex;
  std::shared_ptr<Image> image = std::make_shared<Image>();
  bool killed = false;
  uint64_t calls_left = kNever;
  uint64_t calls = 0;      // since it was mounted
  std::string unreadable;  // suffix
  Liar liar;

  // REQUIRES: mutex is held. The process keeps the image that it has.
  void Kill() {
    if (!killed) image = image->Clone();
    killed = true;
  }
};

namespace {

IOStatus NoSuchFile(const std::string& name) {
  return IOStatus::PathNotFound(name, "no such file");
}

}  // namespace

// Of one process.
class ForgetfulFileSystem final
    : public rocksdb::FileSystem,
      public std::enable_shared_from_this<ForgetfulFileSystem> {
 public:
  using Image = ForgetfulDisk::Image;
  using State = ForgetfulDisk::State;

  explicit ForgetfulFileSystem(std::shared_ptr<State> state)
      : state_(std::move(state)), image_(state_->image) {}

  const char* Name() const override { return "ForgetfulFileSystem"; }

  // Calls `run` under the lock.
  template <typename Run>
  IOStatus Look(Run run) const {
    const std::lock_guard lock(state_->mutex);
    return run(image_.get());
  }
  // The same, of a call that changes something.
  template <typename Run>
  IOStatus Change(Run run) const {
    const std::lock_guard lock(state_->mutex);
    const bool mounted = image_ == state_->image;
    if (mounted) ++state_->calls;
    if (mounted && state_->calls_left != State::kNever &&
        state_->calls_left-- == 0) {
      state_->Kill();
    }
    return run(image_.get());
  }
  // REQUIRES: called within Look or Change.
  bool Unreadable(const std::string& name) const {
    return !state_->unreadable.empty() && EndsIn(name, state_->unreadable);
  }
  bool Lies(const std::string& name, std::string_view unsynced) const {
    return state_->liar && state_->liar(name, unsynced);
  }

  IOStatus Find(const std::string& name, Entry* entry) const {
    return Look([&](Image* image) {
      const auto found = image->entries.find(Plain(name));
      if (found == image->entries.end()) return NoSuchFile(name);
      *entry = found->second;
      return IOStatus::OK();
    });
  }

  IOStatus NewSequentialFile(const std::string& name,
                             const FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* file,
                             IODebugContext* debug) override;
  IOStatus NewRandomAccessFile(
      const std::string& name, const FileOptions& options,
      std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
      IODebugContext* debug) override;
  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override;
  IOStatus ReopenWritableFile(const std::string& name,
                              const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* file,
                              IODebugContext* debug) override;
  IOStatus NewDirectory(const std::string& name, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* directory,
                        IODebugContext* debug) override;

  IOStatus FileExists(const std::string& name, const IOOptions& options,
                      IODebugContext* debug) override {
    return Look([&](Image* image) {
      const std::string plain = Plain(name);
      const bool there = image->entries.count(plain) > 0 ||
                         image->directories.count(plain) > 0;
      return there ? IOStatus::OK() : IOStatus::NotFound();
    });
  }
  IOStatus GetChildren(const std::string& name, const IOOptions& options,
                       std::vector<std::string>* children,
                       IODebugContext* debug) override {
    children->clear();
    return Look([&](Image* image) {
      const std::string plain = Plain(name);
      if (image->directories.count(plain) == 0) return NoSuchFile(name);
      const auto note = [&](const std::string& each) {
        if (DirectoryOf(each) == plain) {
          children->push_back(each.substr(plain.size() + 1));
        }
      };
      for (const auto& [each, contents] : image->entries) note(each);
      for (const std::string& each : image->directories) note(each);
      return IOStatus::OK();
    });
  }
  IOStatus DeleteFile(const std::string& name, const IOOptions& options,
                      IODebugContext* debug) override {
    return Change([&](Image* image) {
      const std::string plain = Plain(name);
      if (image->entries.count(plain) == 0) return NoSuchFile(name);
      image->Remember(plain, {plain});
      image->entries.erase(plain);
      return IOStatus::OK();
    });
  }
  IOStatus Truncate(const std::string& name, size_t size,
                    const IOOptions& options, IODebugContext* debug) override {
    Entry entry;
    const IOStatus status = Find(name, &entry);
    if (!status.ok()) return status;
    return Change([&](Image*) {
      entry->bytes.resize(size);
      entry->synced = std::min(entry->synced, size);
      return IOStatus::OK();
    });
  }
  // Names of directories are durable at once.
  IOStatus CreateDir(const std::string& name, const IOOptions& options,
                     IODebugContext* debug) override {
    return Change([&](Image* image) {
      return image->directories.insert(Plain(name)).second
                 ? IOStatus::OK()
                 : IOStatus::IOError(name, "is there");
    });
  }
  IOStatus CreateDirIfMissing(const std::string& name, const IOOptions& options,
                              IODebugContext* debug) override {
    return Change([&](Image* image) {
      image->directories.insert(Plain(name));
      return IOStatus::OK();
    });
  }
  IOStatus DeleteDir(const std::string& name, const IOOptions& options,
                     IODebugContext* debug) override {
    return Change([&](Image* image) {
      const std::string plain = Plain(name);
      for (const auto& [file, entry] : image->entries) {
        if (IsIn(file, plain)) return IOStatus::IOError(name, "is not empty");
      }
      // No file system would have the files back, and not the directory.
      image->unsynced.erase(plain);
      return image->directories.erase(plain) > 0 ? IOStatus::OK()
                                                 : NoSuchFile(name);
    });
  }
  IOStatus GetFileSize(const std::string& name, const IOOptions& options,
                       uint64_t* size, IODebugContext* debug) override {
    Entry entry;
    const IOStatus status = Find(name, &entry);
    if (!status.ok()) return status;
    return Look([&](Image*) {
      *size = entry->bytes.size();
      return IOStatus::OK();
    });
  }
  IOStatus GetFileModificationTime(const std::string& name,
                                   const IOOptions& options, uint64_t* time,
                                   IODebugContext* debug) override {
    *time = 0;
    Entry entry;
    return Find(name, &entry);
  }
  IOStatus RenameFile(const std::string& from, const std::string& to,
                      const IOOptions& options,
                      IODebugContext* debug) override {
    return Change([&](Image* image) {
      const std::string source = Plain(from);
      const std::string target = Plain(to);
      if (image->directories.count(source) > 0) {
        if (image->directories.count(target) > 0) {
          return IOStatus::IOError(to, "is there");
        }
        image->Move(source, target);
        image->unsynced[DirectoryOf(target)].push_back({{}, source, target});
        return IOStatus::OK();
      }
      const auto entry = image->entries.find(source);
      if (entry == image->entries.end()) return NoSuchFile(from);
      image->Remember(target, {target, source});
      const Entry contents = entry->second;
      image->entries.erase(entry);
      image->entries[target] = contents;
      return IOStatus::OK();
    });
  }
  IOStatus LinkFile(const std::string& from, const std::string& to,
                    const IOOptions& options, IODebugContext* debug) override {
    return Change([&](Image* image) {
      const std::string target = Plain(to);
      const auto entry = image->entries.find(Plain(from));
      if (entry == image->entries.end()) return NoSuchFile(from);
      if (image->entries.count(target) > 0) return IOStatus::IOError(to);
      image->Remember(target, {target});
      image->entries[target] = entry->second;
      return IOStatus::OK();
    });
  }
  IOStatus LockFile(const std::string& name, const IOOptions& options,
                    rocksdb::FileLock** lock, IODebugContext* debug) override;
  IOStatus UnlockFile(rocksdb::FileLock* lock, const IOOptions& options,
                      IODebugContext* debug) override;
  IOStatus GetTestDirectory(const IOOptions& options, std::string* path,
                            IODebugContext* debug) override {
    *path = "/test";
    return CreateDirIfMissing(*path, options, debug);
  }
  IOStatus NewLogger(const std::string& name, const IOOptions& options,
                     std::shared_ptr<rocksdb::Logger>* logger,
                     IODebugContext* debug) override {
    return IOStatus::NotSupported("bring a logger");
  }
  IOStatus GetAbsolutePath(const std::string& name, const IOOptions& options,
                           std::string* path, IODebugContext* debug) override {
    *path = Plain(name);
    return IOStatus::OK();
  }
  IOStatus IsDirectory(const std::string& name, const IOOptions& options,
                       bool* is_directory, IODebugContext* debug) override {
    return Look([&](Image* image) {
      *is_directory = image->directories.count(Plain(name)) > 0;
      return *is_directory || image->entries.count(Plain(name)) > 0
                 ? IOStatus::OK()
                 : NoSuchFile(name);
    });
  }
  IOStatus GetFreeSpace(const std::string& path, const IOOptions& options,
                        uint64_t* free, IODebugContext* debug) override {
    *free = uint64_t{1} << 40;
    return IOStatus::OK();
  }

  // REQUIRES: called within Look.
  static void ReadAt(const Contents& contents, uint64_t offset, size_t n,
                     Slice* result, char* scratch) {
    const size_t size = contents.bytes.size();
    const size_t from = std::min<size_t>(offset, size);
    const size_t read = std::min(n, size - from);
    std::memcpy(scratch, contents.bytes.data() + from, read);
    *result = Slice(scratch, read);
  }

 private:
  const std::shared_ptr<State> state_;
  const std::shared_ptr<Image> image_;
};

namespace {

using FileSystemPtr = std::shared_ptr<const ForgetfulFileSystem>;

class SequentialFile final : public rocksdb::FSSequentialFile {
 public:
  SequentialFile(FileSystemPtr disk, Entry contents)
      : disk_(std::move(disk)), contents_(std::move(contents)) {}

  IOStatus Read(size_t n, const IOOptions& options, Slice* result,
                char* scratch, IODebugContext* debug) override {
    return disk_->Look([&](auto*) {
      ForgetfulFileSystem::ReadAt(*contents_, at_, n, result, scratch);
      at_ += result->size();
      return IOStatus::OK();
    });
  }
  IOStatus Skip(uint64_t n) override {
    at_ += n;
    return IOStatus::OK();
  }

 private:
  const FileSystemPtr disk_;
  const Entry contents_;
  uint64_t at_ = 0;
};

class RandomAccessFile final : public rocksdb::FSRandomAccessFile {
 public:
  RandomAccessFile(FileSystemPtr disk, Entry contents, std::string name)
      : disk_(std::move(disk)),
        contents_(std::move(contents)),
        name_(std::move(name)) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options,
                Slice* result, char* scratch,
                IODebugContext* debug) const override {
    return disk_->Look([&](auto*) {
      if (disk_->Unreadable(name_)) {
        return IOStatus::IOError(name_, "cannot be read for now");
      }
      ForgetfulFileSystem::ReadAt(*contents_, offset, n, result, scratch);
      return IOStatus::OK();
    });
  }

 private:
  const FileSystemPtr disk_;
  const Entry contents_;
  const std::string name_;
};

class WritableFile final : public rocksdb::FSWritableFile {
 public:
  WritableFile(FileSystemPtr disk, Entry contents, std::string name)
      : disk_(std::move(disk)),
        contents_(std::move(contents)),
        name_(std::move(name)) {}

  using rocksdb::FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions& options,
                  IODebugContext* debug) override {
    return disk_->Change([&](auto*) {
      contents_->bytes.append(data.data(), data.size());
      return IOStatus::OK();
    });
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options,
                    IODebugContext* debug) override {
    return disk_->Change([&](auto*) {
      contents_->bytes.resize(size);
      contents_->synced = std::min<size_t>(contents_->synced, size);
      return IOStatus::OK();
    });
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return disk_->Look([](auto*) { return IOStatus::OK(); });
  }
  IOStatus Flush(const IOOptions& options, IODebugContext* debug) override {
    return disk_->Look([](auto*) { return IOStatus::OK(); });
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return disk_->Change([&](auto*) {
      const std::string_view unsynced =
          std::string_view(contents_->bytes).substr(contents_->synced);
      if (disk_->Lies(name_, unsynced)) return IOStatus::OK();
      contents_->synced = contents_->bytes.size();
      return IOStatus::OK();
    });
  }
  bool IsSyncThreadSafe() const override { return true; }
  uint64_t GetFileSize(const IOOptions& options,
                       IODebugContext* debug) override {
    uint64_t size = 0;
    disk_
        ->Look([&](auto*) {
          size = contents_->bytes.size();
          return IOStatus::OK();
        })
        .PermitUncheckedError();
    return size;
  }

 private:
  const FileSystemPtr disk_;
  const Entry contents_;
  const std::string name_;
};

class Directory final : public rocksdb::FSDirectory {
 public:
  Directory(FileSystemPtr disk, std::string name)
      : disk_(std::move(disk)), name_(std::move(name)) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return disk_->Change([&](auto* image) {
      image->unsynced.erase(name_);
      return IOStatus::OK();
    });
  }

 private:
  const FileSystemPtr disk_;
  const std::string name_;
};

class Lock final : public rocksdb::FileLock {
 public:
  explicit Lock(std::string n) : name(std::move(n)) {}
  const std::string name;
};

}  // namespace

IOStatus ForgetfulFileSystem::NewSequentialFile(
    const std::string& name, const FileOptions& options,
    std::unique_ptr<rocksdb::FSSequentialFile>* file, IODebugContext* debug) {
  Entry entry;
  const IOStatus status = Find(name, &entry);
  if (status.ok()) {
    *file = std::make_unique<SequentialFile>(shared_from_this(), entry);
  }
  return status;
}

IOStatus ForgetfulFileSystem::NewRandomAccessFile(
    const std::string& name, const FileOptions& options,
    std::unique_ptr<rocksdb::FSRandomAccessFile>* file, IODebugContext* debug) {
  Entry entry;
  const IOStatus status = Find(name, &entry);
  if (status.ok()) {
    *file = std::make_unique<RandomAccessFile>(shared_from_this(), entry,
                                               Plain(name));
  }
  return status;
}

IOStatus ForgetfulFileSystem::NewWritableFile(
    const std::string& name, const FileOptions& options,
    std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* debug) {
  const std::string plain = Plain(name);
  return Change([&](Image* image) {
    if (image->directories.count(DirectoryOf(plain)) == 0) {
      return NoSuchFile(name);
    }
    // What the name stood for stays what it was until the directory is synced.
    image->Remember(plain, {plain});
    const Entry contents = std::make_shared<Contents>();
    image->entries[plain] = contents;
    *file = std::make_unique<WritableFile>(shared_from_this(), contents, plain);
    return IOStatus::OK();
  });
}

// Goes on at the end of a file that is there.
IOStatus ForgetfulFileSystem::ReopenWritableFile(
    const std::string& name, const FileOptions& options,
    std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* debug) {
  Entry entry;
  if (!Find(name, &entry).ok()) {
    return NewWritableFile(name, options, file, debug);
  }
  *file =
      std::make_unique<WritableFile>(shared_from_this(), entry, Plain(name));
  return IOStatus::OK();
}

IOStatus ForgetfulFileSystem::NewDirectory(
    const std::string& name, const IOOptions& options,
    std::unique_ptr<rocksdb::FSDirectory>* directory, IODebugContext* debug) {
  return Look([&](Image* image) {
    if (image->directories.count(Plain(name)) == 0) return NoSuchFile(name);
    *directory = std::make_unique<Directory>(shared_from_this(), Plain(name));
    return IOStatus::OK();
  });
}

IOStatus ForgetfulFileSystem::LockFile(const std::string& name,
                                       const IOOptions& options,
                                       rocksdb::FileLock** lock,
                                       IODebugContext* debug) {
  return Look([&](Image* image) {
    if (!image->locked.insert(Plain(name)).second) {
      return IOStatus::IOError(name, "is locked");
    }
    image->entries.emplace(Plain(name), std::make_shared<Contents>());
    *lock = new Lock(Plain(name));
    return IOStatus::OK();
  });
}

IOStatus ForgetfulFileSystem::UnlockFile(rocksdb::FileLock* lock,
                                         const IOOptions& options,
                                         IODebugContext* debug) {
  const std::unique_ptr<Lock> mine(static_cast<Lock*>(lock));
  return Look([&](Image* image) {
    image->locked.erase(mine->name);
    return IOStatus::OK();
  });
}

ForgetfulDisk::ForgetfulDisk() : state_(std::make_shared<State>()) {}
ForgetfulDisk::ForgetfulDisk(std::shared_ptr<State> state)
    : state_(std::move(state)) {}
ForgetfulDisk::~ForgetfulDisk() = default;
ForgetfulDisk::ForgetfulDisk(ForgetfulDisk&& other) noexcept = default;
ForgetfulDisk& ForgetfulDisk::operator=(ForgetfulDisk&& other) noexcept =
    default;

std::shared_ptr<rocksdb::FileSystem> ForgetfulDisk::Mount() {
  const std::lock_guard lock(state_->mutex);
  state_->killed = false;
  state_->calls_left = State::kNever;
  state_->calls = 0;
  state_->image->locked.clear();
  return std::make_shared<ForgetfulFileSystem>(state_);
}

void ForgetfulDisk::Kill() {
  const std::lock_guard lock(state_->mutex);
  state_->Kill();
}

void ForgetfulDisk::KillAfter(uint64_t calls) {
  const std::lock_guard lock(state_->mutex);
  state_->calls_left = calls;
}

uint64_t ForgetfulDisk::calls() const {
  const std::lock_guard lock(state_->mutex);
  return state_->calls;
}

bool ForgetfulDisk::killed() const {
  const std::lock_guard lock(state_->mutex);
  return state_->killed;
}

uint64_t ForgetfulDisk::LosePower(const Chance& chance) {
  const std::lock_guard lock(state_->mutex);
  Image* const image = state_->image.get();
  // By undoing what happened in one directory another may get its name back.
  while (!image->unsynced.empty()) {
    image->Forget(image->unsynced.begin()->first, [&](size_t count) {
      return chance(2) == 0 ? size_t{0} : chance(count + 1);
    });
  }
  uint64_t gone = 0;
  for (const auto& [name, contents] : image->entries) {
    const size_t tail = contents->bytes.size() - contents->synced;
    if (tail == 0) continue;
    const size_t kept = chance(2) == 0 ? 0 : chance(tail + 1);
    gone += tail - kept;
    contents->bytes.resize(contents->synced + kept);
    contents->synced = contents->bytes.size();
  }
  return gone;
}

ForgetfulDisk ForgetfulDisk::Copy(const std::string& from,
                                  const std::string& to) const {
  const std::lock_guard lock(state_->mutex);
  const Image& image = *state_->image;
  auto copy = std::make_shared<State>();
  const auto renamed = [&](const std::string& name) {
    return Renamed(name, from, to);
  };
  for (const auto& [name, contents] : image.entries) {
    copy->image->entries[renamed(name)] = std::make_shared<Contents>(
        Contents{contents->bytes, contents->bytes.size()});
  }
  for (const std::string& name : image.directories) {
    copy->image->directories.insert(renamed(name));
  }
  return ForgetfulDisk(std::move(copy));
}

void ForgetfulDisk::FailReads(std::string suffix) {
  const std::lock_guard lock(state_->mutex);
  state_->unreadable = std::move(suffix);
}

void ForgetfulDisk::LieAboutSyncs(Liar liar) {
  const std::lock_guard lock(state_->mutex);
  state_->liar = std::move(liar);
}

bool ForgetfulDisk::FlipBit(std::string_view bytes, std::string_view suffix) {
  const std::lock_guard lock(state_->mutex);
  for (const auto& [name, contents] : state_->image->entries) {
    if (!EndsIn(name, suffix)) continue;
    const size_t at = contents->bytes.find(bytes);
    if (at == std::string::npos) continue;
    contents->bytes[at + bytes.size() / 2] ^= 1;
    return true;
  }
  return false;
}

}  // namespace rocksync
