// How an application follows what replication changes in its database.

#ifndef ROCKSYNC_HOOKS_H_
#define ROCKSYNC_HOOKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rocksdb/slice.h"

namespace rocksync {

// The version of a pair: when it was written, and by whom. Both fields 0: the
// pair was in a database before replication was, and its age is not known.
struct PairVersion {
  // Bits 63..16: milliseconds since the Unix epoch; bits 15..0: a counter.
  uint64_t time = 0;
  uint64_t replica = 0;
};

// One change that came from a peer and is about to be applied here. The slices
// are valid during the call only.
struct AppliedChange {
  rocksdb::Slice family;  // the column family's name
  rocksdb::Slice key;
  rocksdb::Slice value;  // empty if `tombstone`
  bool tombstone = false;
  PairVersion version;

  // What the change replaces: true if this replica knew a value or a tombstone
  // of the key. The replaced value, if any, is still what Get returns during
  // the call. Nothing tells a successor, whose writer had seen
  // `replaced_version`, from a race, of which the later write wins.
  bool replaces = false;
  bool replaced_tombstone = false;
  PairVersion replaced_version;
};

// Sees every batch of changes from peers before it is applied, so that caches
// and derived data can be kept right.
//
// Called on the thread that runs a session (one of the replicator's, or the one
// that called SyncNow) and on those that receive streams: by several at once,
// about one for each peer, whatever ReplicatorOptions::max_sessions says.
// Do not hold a lock around SyncNow that the hook takes. The locks of the
// batch's keys are held: local writes to these keys wait meanwhile, so be
// brief. The hook may read the database, but not write to it: Put, Delete,
// Write and Update of replicated column families, SetMembers,
// CollectTombstones, CreateColumnFamily and DropColumnFamily return
// InvalidArgument in it. Let another thread write, and do not wait for that
// one, nor for a session, in the hook. It must not throw. A call does not
// promise that the batch is then written: the write itself can fail, and the
// changes come again later. A change may be announced more than once.
class ApplyHook {
 public:
  virtual ~ApplyHook() = default;
  virtual void BeforeApply(const std::vector<AppliedChange>& changes) = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_HOOKS_H_
