// What was written to replicated families lately, in memory, for the streams to
// peers. Bounded: the oldest changes go, whoever has not read them yet.
//
// A writer appends after RocksDB's Write has returned OK, so what is in the log
// is in the database, and a sync of the database's log that begins after a
// position was read makes everything up to it durable. A writer never waits for
// a reader: a reader holds the mutex while it copies pointers, no longer.
//
// A change that a reader misses (the log was not attached yet, or had to let it
// go) is in every snapshot of the database that is taken after the attachment,
// or after the loss was told. So an exact session finds it.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_CHANGE_LOG_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_CHANGE_LOG_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "sketch/element/version.h"

namespace rocksync {

// One version of one pair. Views do not own.
struct Change {
  uint32_t family_id = 0;  // RocksDB's
  std::string_view key;
  Version version;
  bool tombstone = false;
  std::string_view value;
  uint64_t source = 0;  // the peer that it came from; 0: written here
  // As read from the log: the pair is too large for it, and its value, or its
  // key too, is not here.
  bool left_out = false;
};

// Thread-safe, but for each reader, which belongs to one thread at a time.
class ChangeLog {
 public:
  using Clock = std::chrono::steady_clock;

  // Key and value of what the log holds, together.
  static constexpr size_t kMaxChangeBytes = size_t{64} << 10;

  class Reader;

  ChangeLog() = default;
  ChangeLog(const ChangeLog&) = delete;
  ChangeLog& operator=(const ChangeLog&) = delete;

  // Whether anybody reads it, to be asked once the write is committed. All that
  // a write pays where nobody does. Relaxed is enough: a write that is not in a
  // snapshot taken since the attachment has taken its stripe after whoever took
  // the snapshot let it go.
  bool attached() const {
    return readers_.load(std::memory_order_relaxed) != 0;
  }

  // Whether what comes from this peer is to be appended, too. As above.
  bool passes_on(uint64_t source) const;
  // From all peers, or from all but `reached`: each of these sends to whoever
  // has a stream from here what it sends to this replica.
  void SetPassesOn(bool all, std::vector<uint64_t> reached);

  // Appends what a write of the database has changed, in one piece. Of a key
  // that is changed several times only the last change may be there.
  void Append(std::span<const Change> changes);

  // The number of changes appended so far; they are numbered from 1.
  uint64_t end() const;

 private:
  // Bytes that are written once, from the front; a reader sees no more of them
  // than there were when it held the mutex.
  struct Segment {
    uint64_t first = 0;  // number of its first change
    uint64_t count = 0;
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
    size_t used = 0;
  };

  void AppendOne(const Change& change, Clock::time_point now);
  Segment* SegmentFor(size_t bytes);

  std::atomic<uint32_t> readers_{0};
  std::atomic<bool> passes_all_on_{false};
  mutable std::mutex mutex_;
  std::vector<uint64_t> reached_;
  std::condition_variable changed_;
  uint32_t sleepers_ = 0;
  size_t capacity_ = 0;
  size_t bytes_ = 0;  // of all segments
  uint64_t end_ = 0;
  std::deque<std::shared_ptr<Segment>> segments_;
};

// Where one stream is in the log. Changes from the time of its construction on.
class ChangeLog::Reader {
 public:
  // `capacity_bytes`: what the log may hold; of several readers the last one
  // counts. `log` must outlive it.
  Reader(ChangeLog* log, size_t capacity_bytes);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Sleeps until there is a change that was not taken (unless `ignore_changes`)
  // or until Interrupt was called since it last returned, but no longer than
  // `until`.
  void Wait(Clock::time_point until, bool ignore_changes);
  // From any thread.
  void Interrupt();

  // What was taken. Views are valid until the next call.
  struct Taken {
    std::vector<Change> changes;
    uint64_t lost = 0;  // changes before these that the log had to let go
    uint64_t last = 0;  // number of the last change
    Clock::time_point oldest{};  // when the first was appended
  };
  // The next changes, about `max_bytes` of keys and values, at least one if
  // there is any. If some are lost, all that are there are given up with them
  // and counted as lost: they are repaired together.
  const Taken& Take(size_t max_bytes);

  // From any thread: changes that were not taken, and when the oldest of them
  // was appended.
  struct Backlog {
    uint64_t changes = 0;
    Clock::time_point oldest{};
  };
  Backlog backlog() const;

 private:
  struct Piece {
    std::shared_ptr<const Segment> segment;
    size_t begin = 0;
    size_t end = 0;
    uint64_t first = 0;  // number of the change at `begin`
  };

  bool Gather(size_t max_bytes);
  void Parse(size_t max_bytes);

  ChangeLog* const log_;
  // Under the log's mutex:
  bool interrupted_ = false;
  uint64_t next_ = 1;  // number of the next change
  size_t offset_ = 0;  // of it in its segment, if it is not its first
  // Of the thread that reads:
  std::vector<Piece> pieces_;
  Taken taken_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_CHANGE_LOG_H_
