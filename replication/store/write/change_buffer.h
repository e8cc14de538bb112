// The latest writes to replicated families, in memory, for the streams to
// peers. The buffer is bounded: it drops the oldest changes, whether or not
// readers have read them.
//
// A writer appends after RocksDB's Write has returned OK. So what is in the
// buffer is in the database, and a sync of the WAL that begins after a position
// was read makes everything up to it durable. A writer never waits for a
// reader, except while that holds the mutex to copy pointers.
//
// A reader may miss a change, if it was not attached yet or if the buffer
// dropped it. Such a change is in every snapshot of the database that is taken
// after the attachment, or after the loss was reported. So an exact session
// finds it.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_CHANGE_BUFFER_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_CHANGE_BUFFER_H_

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

// One version of one pair. The views do not own their bytes.
struct Change {
  uint32_t family_id = 0;  // RocksDB's
  std::string_view key;
  Version version;
  bool tombstone = false;
  std::string_view value;
  uint64_t source = 0;  // the peer that it came from; 0: written here
  // For a change read from the buffer: the pair was too large for it, so that
  // its value (or key and value) is missing here.
  bool left_out = false;
};

// The buffer. Thread-safe, except that each reader belongs to one thread at a
// time.
class ChangeBuffer {
 public:
  using Clock = std::chrono::steady_clock;

  // The most bytes of key and value that the buffer holds of one change.
  static constexpr size_t kMaxChangeBytes = size_t{64} << 10;

  class Reader;

  ChangeBuffer() = default;
  ChangeBuffer(const ChangeBuffer&) = delete;
  ChangeBuffer& operator=(const ChangeBuffer&) = delete;

  // Whether there is a reader; a writer asks once its write is committed. It is
  // all that a write pays without a reader. Relaxed order is enough: a write
  // that is not in a snapshot taken since the attachment took its stripe after
  // the snapshot's thread released it.
  bool attached() const {
    return readers_.load(std::memory_order_relaxed) != 0;
  }

  // Whether changes from this peer are to be appended, too. Asked as
  // attached().
  bool passes_on(uint64_t source) const;
  // Sets whether changes from all peers are appended, or from all but
  // `reached`. These peers send to all that have a stream from here what they
  // send to this replica.
  void SetPassesOn(bool all, std::vector<uint64_t> reached);

  // Appends the changes of one write to the database, without others in
  // between. If the write changes a key several times, only the last change may
  // be passed.
  void Append(std::span<const Change> changes);

  // The number of changes appended so far; they are numbered from 1.
  uint64_t end() const;

 private:
  // Bytes that are written once, from the front. A reader sees only those that
  // were there when it held the mutex.
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

// One stream's position in the buffer. Reads changes from its construction on.
class ChangeBuffer::Reader {
 public:
  // `capacity_bytes`: what the buffer may hold; of several readers the value of
  // the last one counts. `buffer` must outlive it.
  Reader(ChangeBuffer* buffer, size_t capacity_bytes);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Sleeps until there is a change that was not taken (unless
  // `ignore_changes`), until Interrupt was called since the last return, or
  // until `until`.
  void Wait(Clock::time_point until, bool ignore_changes);
  // Ends Wait. May be called from any thread.
  void Interrupt();

  // The changes that were taken. Views are valid until the next call.
  struct Taken {
    std::vector<Change> changes;
    uint64_t lost = 0;  // changes before these that the buffer had to drop
    uint64_t last = 0;  // number of the last change
    Clock::time_point oldest{};  // when the first was appended
  };
  // Takes the next changes, about `max_bytes` of keys and values, and at least
  // one if there is any. If some are lost, all present ones are given up and
  // counted as lost, too: they are repaired together.
  const Taken& Take(size_t max_bytes);

  // The number of changes that were not taken, and when the oldest of them was
  // appended. May be called from any thread.
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

  ChangeBuffer* const buffer_;
  // Guarded by the buffer's mutex:
  bool interrupted_ = false;
  uint64_t next_ = 1;  // number of the next change
  size_t offset_ = 0;  // its offset in the segment, unless first there
  // Used by the reading thread alone:
  std::vector<Piece> pieces_;
  Taken taken_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_CHANGE_BUFFER_H_
