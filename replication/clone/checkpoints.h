// The checkpoints of a database that others copy: made when somebody asks for a
// clone, in directories of their own within the database's, of hard links to
// its files. One that nobody uses is kept for a while, so that whoever comes
// back after an interruption finds the same files; but it keeps files from
// going that RocksDB has replaced, so there are few, and none while the disk is
// short of room.

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
  size_t most = 4;  // at once
  std::chrono::milliseconds keep_unused{600'000};
  // How often unused ones and room on the disk are looked at.
  std::chrono::milliseconds look_every{1'000};
};

// Thread-safe. `db` must be there until Stop.
class Checkpoints {
 public:
  // One checkpoint, as its users see it.
  struct Files {
    std::string directory;
    CloneFiles list;  // by name
    uint64_t bytes = 0;
    // The disk ran short of room: its files are gone, or go.
    std::atomic<bool> withdrawn{false};
  };

  // Holds a checkpoint as long as it lives.
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

  // Removes all of them; from then on the database may be gone, and Get fails.
  // No Use may be left.
  void Stop();

  // Removes what a process that was killed has left. Before the first Get.
  void RemoveLeftovers();

  // The one of this ticket, or, if there is none (any more), a new one. Busy:
  // as many as may be are in use. NoSpace: the disk has too little room.
  // Blocks while RocksDB flushes.
  rocksdb::Status Get(uint64_t ticket, Use* use);

  // Nobody comes back for it: it goes once it is not in use.
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
  // With the lock held.
  Held* Find(uint64_t ticket);
  rocksdb::Status MakeRoomForOne(std::vector<std::shared_ptr<Files>>* gone);
  // Takes those out that are to go. RocksDB's files go without the lock.
  std::vector<std::shared_ptr<Files>> TakeThoseOver(bool short_of_room);
  void Remove(const std::vector<std::shared_ptr<Files>>& gone);
  void Watch();
  bool ShortOfRoom() const;

  ReplicatedDB* const db_;
  const CheckpointLimits limits_;
  std::mutex making_;  // one at a time
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::list<Held> held_;
  std::thread watch_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_CLONE_CHECKPOINTS_H_
