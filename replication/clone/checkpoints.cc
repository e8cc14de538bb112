#include "replication/clone/checkpoints.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include "replication/base/random_bits.h"
#include "replication/base/status.h"
#include "replication/store/write/free_space.h"
#include "rocksdb/utilities/checkpoint.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::Status;

constexpr std::string_view kDirectoryPrefix = "rocksync-clone-";

std::string CheckpointPath(const std::string& database, uint64_t ticket) {
  char name[17];
  std::snprintf(name, sizeof name, "%016" PRIx64, ticket);
  return database + "/" + std::string(kDirectoryPrefix) + name;
}

// Removes a directory that holds only files.
void RemoveDirectory(Env* env, const std::string& directory) {
  std::vector<std::string> names;
  env->GetChildren(directory, &names).PermitUncheckedError();
  for (const std::string& name : names) {
    if (name == "." || name == "..") continue;
    env->DeleteFile(directory + "/" + name).PermitUncheckedError();
  }
  env->DeleteDir(directory).PermitUncheckedError();
}

Status ListFiles(Env* env, const std::string& directory, CloneFiles* list,
                 uint64_t* bytes) {
  std::vector<std::string> names;
  Status status = env->GetChildren(directory, &names);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (!status.ok()) break;
    if (!IsCloneFileName(name)) continue;
    CloneFile file{name, 0};
    status = env->GetFileSize(directory + "/" + name, &file.size);
    *bytes += file.size;
    list->files.push_back(std::move(file));
  }
  if (status.ok() && list->files.size() > kMaxCloneFiles) {
    status = Status::NotSupported("rocksync: a clone of more than " +
                                      std::to_string(kMaxCloneFiles) + " files",
                                  "let RocksDB compact into larger files");
  }
  return status;
}

}  // namespace

Checkpoints::Use& Checkpoints::Use::operator=(Use&& other) noexcept {
  Release();
  owner_ = std::exchange(other.owner_, nullptr);
  files_ = std::move(other.files_);
  return *this;
}

void Checkpoints::Use::Release() {
  if (owner_ == nullptr) return;
  {
    const std::lock_guard lock(owner_->mutex_);
    Held* const held = owner_->Find(files_->list.ticket);
    if (held != nullptr && --held->users == 0) {
      held->unused_since = Clock::now();
    }
  }
  owner_->changed_.notify_all();
  owner_ = nullptr;
}

void Checkpoints::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (watch_.joinable()) watch_.join();
  for (const Held& held : held_) {
    RemoveDirectory(db_->GetEnv(), held.files->directory);
  }
  held_.clear();
}

void Checkpoints::RemoveLeftovers() {
  const std::string database = db_->GetName();
  std::vector<std::string> names;
  db_->GetEnv()->GetChildren(database, &names).PermitUncheckedError();
  for (const std::string& name : names) {
    if (!name.starts_with(kDirectoryPrefix)) continue;
    RemoveDirectory(db_->GetEnv(), database + "/" + name);
  }
}

Checkpoints::Held* Checkpoints::Find(uint64_t ticket) {
  const auto found = std::find_if(
      held_.begin(), held_.end(),
      [ticket](const Held& held) { return held.files->list.ticket == ticket; });
  return found == held_.end() ? nullptr : &*found;
}

bool Checkpoints::ShortOfRoom() const {
  const uint64_t least = db_->replication_options().min_free_bytes;
  return least > 0 &&
         !CheckRoom(db_->GetEnv(), {db_->GetName()}, least, "").ok();
}

Status Checkpoints::Make(std::shared_ptr<Files>* files) {
  const uint64_t least = db_->replication_options().min_free_bytes;
  Status status = CheckRoom(
      db_->GetEnv(), {db_->GetName()}, least,
      "a checkpoint keeps files that RocksDB would remove; make room there");
  if (!status.ok()) return status;
  auto made = std::make_shared<Files>();
  made->list.ticket = RandomBits();
  made->list.source_id = db_->Identity().replica_id;
  made->directory = CheckpointPath(db_->GetName(), made->list.ticket);
  rocksdb::Checkpoint* raw = nullptr;
  status = rocksdb::Checkpoint::Create(db_, &raw);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  if (status.ok()) status = checkpoint->CreateCheckpoint(made->directory);
  if (status.IsNotSupported()) {
    status = Status::NotSupported(
        status.getState() != nullptr ? status.getState() : "",
        "let sessions fill an empty replica, or copy all directories of the "
        "source while it is stopped");
  }
  if (status.ok()) {
    status =
        ListFiles(db_->GetEnv(), made->directory, &made->list, &made->bytes);
  }
  if (!status.ok()) {
    RemoveDirectory(db_->GetEnv(), made->directory);
    return status;
  }
  *files = std::move(made);
  return status;
}

Status Checkpoints::MakeRoomForOne(std::vector<std::shared_ptr<Files>>* gone) {
  while (held_.size() >= limits_.most) {
    auto oldest = held_.end();
    for (auto held = held_.begin(); held != held_.end(); ++held) {
      if (held->users > 0) continue;
      if (oldest == held_.end() || held->unused_since < oldest->unused_since) {
        oldest = held;
      }
    }
    if (oldest == held_.end()) {
      return Status::Busy("rocksync: " + std::to_string(limits_.most) +
                              " others clone this replica",
                          "try again later");
    }
    gone->push_back(oldest->files);
    held_.erase(oldest);
  }
  return Status::OK();
}

Status Checkpoints::Get(uint64_t ticket, Use* use) {
  const std::lock_guard one_at_a_time(making_);
  std::vector<std::shared_ptr<Files>> gone;
  Status status;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Status::TryAgain("the source's replicator stops");
    Held* const held = Find(ticket);
    if (held != nullptr) {
      ++held->users;
      *use = Use(this, held->files);
      return status;
    }
    status = MakeRoomForOne(&gone);
  }
  Remove(gone);
  std::shared_ptr<Files> files;
  if (status.ok()) status = Make(&files);
  if (!status.ok()) return status;
  {
    const std::lock_guard lock(mutex_);
    held_.push_back({files, 1, false, Clock::now()});
    try {
      if (!watch_.joinable()) watch_ = std::thread([this] { Watch(); });
    } catch (const std::system_error& error) {
      held_.pop_back();
      status = NoThread(error.what());
    }
  }
  if (status.ok()) {
    *use = Use(this, std::move(files));
  } else {
    Remove({files});
  }
  return status;
}

void Checkpoints::Finish(uint64_t ticket) {
  {
    const std::lock_guard lock(mutex_);
    Held* const held = Find(ticket);
    if (held != nullptr) held->finished = true;
  }
  changed_.notify_all();
}

std::vector<std::shared_ptr<Checkpoints::Files>> Checkpoints::TakeThoseOver(
    bool short_of_room) {
  std::vector<std::shared_ptr<Files>> gone;
  const auto now = Clock::now();
  for (auto held = held_.begin(); held != held_.end();) {
    const bool over =
        held->users == 0 &&
        (held->finished || now - held->unused_since >= limits_.keep_unused);
    if (!over && !short_of_room) {
      ++held;
      continue;
    }
    held->files->withdrawn = true;
    gone.push_back(held->files);
    held = held_.erase(held);
  }
  return gone;
}

void Checkpoints::Remove(const std::vector<std::shared_ptr<Files>>& gone) {
  for (const auto& files : gone) {
    RemoveDirectory(db_->GetEnv(), files->directory);
  }
}

void Checkpoints::Watch() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (held_.empty()) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_for(lock, limits_.look_every);
    lock.unlock();
    const bool short_of_room = ShortOfRoom();
    lock.lock();
    const auto gone = TakeThoseOver(short_of_room);
    lock.unlock();
    if (short_of_room && !gone.empty()) {
      rocksdb::Warn(db_->GetDBOptions().info_log,
                    "rocksync: the disk is short of room: checkpoints of "
                    "clones are withdrawn");
    }
    Remove(gone);
    lock.lock();
  }
}

}  // namespace rocksync
