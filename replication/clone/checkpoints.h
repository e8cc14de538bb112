// The checkpoints of a database that are copied by clones. A checkpoint is made
// when a receiver asks for a clone, of hard links to the database's files, in a
// directory of its own within the database's. An unused checkpoint is kept for
// a while, so that a receiver that comes back after an interruption finds the
// same files. But it keeps files on the disk that RocksDB has replaced, so
// there are only a few, and none while the disk is short of room.

#ifndef ROCKSYNC_REPLICATION_CLONE_CHECKPOINTS_H_
#define ROCKSYNC_REPLICATION_CLONE_CHECKPOINTS_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "replication/clone/clone_messages.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

struct CheckpointLimits {
  size_t most = 4;  // checkpoints at once
  std::chrono::milliseconds keep_unused{600'000};
  // How often unused checkpoints and the room on the disk are checked.
  std::chrono::milliseconds look_every{1'000};
};

// Makes, holds and removes the checkpoints. Thread-safe. `db` must live until
// Stop.
class Checkpoints {
 public:
  // One checkpoint, as its users see it.
  struct Files {
    std::string directory;
    CloneFiles list;  // by name
    uint64_t bytes = 0;
    // The disk ran short of room: the files are, or are being, removed.
    std::atomic<bool> withdrawn{false};
  };

  // Holds a checkpoint for as long as it lives.
  class Use {
   public:
    Use() = default;
    Use(Checkpoints* owner, std::shared_ptr<Files> files)
        : owner_(owner), files_(std::move(files)) {}
    ~Use() { Release(); }
    Use(Use&& other) noexcept { *this = std::move(other); }
    Use& operator=(Use&& other) noexcept;
    Files* operator->() const { return files_.get(); }
    Files& operator*() const { return *files_; }

   private:
    void Release();

    Checkpoints* owner_ = nullptr;
    std::shared_ptr<Files> files_;
  };

  explicit Checkpoints(ReplicatedDB* db, const CheckpointLimits& limits = {})
      : db_(db), limits_(limits) {}
  ~Checkpoints() { Stop(); }

  // Removes all checkpoints. From then on the database may be gone, and Get
  // fails. REQUIRES: no Use is left.
  void Stop();

  // Removes what a process that was killed has left. Called before the first
  // Get.
  void RemoveLeftovers();

  // Gets the checkpoint of this ticket, or a new one if there is none (any
  // more). Busy: as many as the limit allows are in use. NoSpace: the disk has
  // too little room. TryAgain: Stop was called. Blocks while RocksDB flushes.
  rocksdb::Status Get(uint64_t ticket, Use* use);

  // Notes that no receiver comes back for this checkpoint, so that it is
  // removed once it is not in use.
  void Finish(uint64_t ticket);

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    std::shared_ptr<Files> files;
    size_t users = 0;
    bool finished = false;
    Clock::time_point unused_since;
  };

  rocksdb::Status Make(std::shared_ptr<Files>* files);
  // REQUIRES, of the next three: mutex_ is held.
  Held* Find(uint64_t ticket);
  rocksdb::Status MakeRoomForOne(std::vector<std::shared_ptr<Files>>* gone);
  // Takes out of held_ the checkpoints that are to be removed. Remove, which
  // deletes their files, is called without the lock.
  std::vector<std::shared_ptr<Files>> TakeThoseOver(bool short_of_room);
  void Remove(const std::vector<std::shared_ptr<Files>>& gone);
  void Watch();
  bool ShortOfRoom() const;

  ReplicatedDB* const db_;
  const CheckpointLimits limits_;
  std::mutex making_;  // held by Get, so that one checkpoint is made at a time
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::list<Held> held_;
  std::thread watch_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_CLONE_CHECKPOINTS_H_
