// How an application follows, at its own pace, what peers have changed in its
// database.

#ifndef ROCKSYNC_CHANGE_FEED_H_
#define ROCKSYNC_CHANGE_FEED_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rocksdb/status.h"
#include "rocksync/hooks.h"

namespace rocksync {

// A change that came from a peer and is in the database. The value is not here:
// Get has it, or a later one.
struct FeedChange {
  std::string family;  // the column family's name
  std::string key;
  bool tombstone = false;  // the key was deleted
  PairVersion version;     // when it was written, and by which replica
  // Replica id of the peer that sent it, which need not have written it.
  uint64_t source = 0;
  // What it replaced, as in AppliedChange.
  bool replaces = false;
  bool replaced_tombstone = false;
  PairVersion replaced_version;
};

struct ChangeFeedOptions {
  // Memory for changes that were not fetched yet. 4 KiB to 64 GiB.
  size_t buffer_bytes = size_t{1} << 20;
};

// Changes since ReplicatedDB::Subscribe returned it, by sessions and streams;
// what is written here is not among them. Sessions and streams never wait for
// a feed's reader: what does not fit the buffer is counted and left out.
// The feed is in memory: after a restart, or where changes were missed, look
// at the database itself.
//
// For one thread at a time. May outlive the database, whose Close does not wait
// for it.
class ChangeFeed {
 public:
  virtual ~ChangeFeed() = default;

  // Waits until there is a change, and fetches all there are. Changes of one
  // key are in the order in which they were applied.
  //
  //   OK        `*changes` are not empty, or `*missed` is not 0: the number of
  //             changes that are left out between `*changes` and those of the
  //             next call
  //   TimedOut  none came within `timeout`; a longer one than kMaxDuration
  //             (rocksync/max_duration.h) counts as kMaxDuration, a negative
  //             one as 0
  //   Aborted   the database was closed, and all that came was fetched
  //
  // After TimedOut and Aborted `*changes` is empty and `*missed` 0.
  virtual rocksdb::Status Next(std::chrono::milliseconds timeout,
                               std::vector<FeedChange>* changes,
                               uint64_t* missed) = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_CHANGE_FEED_H_
