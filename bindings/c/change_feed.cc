// A feed of what peers change, for C.

#include "rocksync/change_feed.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "bindings/c/objects.h"
#include "rocksync/c.h"
#include "rocksync/hooks.h"
#include "rocksync/max_duration.h"

struct rocksync_change_feed_t {
  std::unique_ptr<rocksync::ChangeFeed> rep;
  std::vector<rocksync::FeedChange> fetched;
  std::vector<rocksync::AppliedChange> changes;  // point into `fetched`
  std::vector<uint64_t> sources;
  const rocksync_changes_t given{changes, sources};
};

using rocksdb::Status;

extern "C" {

rocksync_change_feed_t* rocksync_subscribe(rocksync_t* db, size_t buffer_bytes,
                                           char** errptr) {
  auto feed = std::make_unique<rocksync_change_feed_t>();
  const Status status =
      db == nullptr
          ? rocksync::NullArgument("db")
          : db->open->db->Subscribe({.buffer_bytes = buffer_bytes}, &feed->rep);
  return rocksync::SaveError(errptr, status) ? nullptr : feed.release();
}

const rocksync_changes_t* rocksync_change_feed_next(
    rocksync_change_feed_t* feed, uint64_t timeout_ms, uint64_t* missed,
    char** errptr) {
  if (missed != nullptr) *missed = 0;
  if (feed == nullptr) {
    rocksync::SaveError(errptr, rocksync::NullArgument("feed"));
    return nullptr;
  }
  uint64_t left_out = 0;
  const Status status = feed->rep->Next(
      std::min(rocksync::Duration(timeout_ms), rocksync::kMaxDuration),
      &feed->fetched, &left_out);
  feed->changes.clear();
  feed->sources.clear();
  if (status.IsTimedOut()) return nullptr;
  if (rocksync::SaveError(errptr, status)) return nullptr;
  for (const rocksync::FeedChange& change : feed->fetched) {
    feed->changes.push_back({change.family, change.key, rocksdb::Slice(),
                             change.tombstone, change.version, change.replaces,
                             change.replaced_tombstone,
                             change.replaced_version});
    feed->sources.push_back(change.source);
  }
  if (missed != nullptr) *missed = left_out;
  return &feed->given;
}

void rocksync_change_feed_destroy(rocksync_change_feed_t* feed) { delete feed; }

}  // extern "C"
