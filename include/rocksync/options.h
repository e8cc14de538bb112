// Options of a replicated database. The replicator's are in replicator.h.

#ifndef ROCKSYNC_OPTIONS_H_
#define ROCKSYNC_OPTIONS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/options.h"
#include "rocksync/hooks.h"

namespace rocksdb {
class FilterPolicy;
}

namespace rocksync {

// Every replica of a cluster is opened with the same cluster_secret,
// cluster_name and families; the rest may differ.
struct ReplicatedDBOptions {
  // 32 random bytes, the same on all replicas, never sent. They keep clients of
  // the store from computing the hashes that prove replicas equal. All zero
  // (the default) is refused. Changing the secret of an existing database is
  // refused too: the index was computed with it.
  std::array<uint8_t, 32> cluster_secret{};

  // Names the cluster; replicas of another cluster are refused. Required.
  std::string cluster_name;

  // Names of the replicated column families. Empty: all of them. Writes to the
  // others pass through untouched. A family that is created while the database
  // is open is replicated if it is named here, or if this is empty.
  std::vector<std::string> families;

  // Sees every batch from peers before it is applied; may be null.
  std::shared_ptr<ApplyHook> hook;

  // How pairs from peers are written. disableWAL is refused; no_slowdown is
  // set by the library itself so that it can be stopped while RocksDB stalls.
  rocksdb::WriteOptions apply_write_options;

  // Take over an existing plain database: its pairs are hashed in the
  // background while the application reads and writes, one read of everything.
  // Until that is done, peers are refused with the percentage. False: such a
  // database is refused.
  bool adopt_existing = true;

  // Let a copy of a replica open as a new replica with an identity of its own.
  // False: a checkpoint or a restored backup is recognised and refused, since
  // two replicas with one identity lose writes. A directory copied with plain
  // tools (`cp -a`) looks like the original; it is recognised by peers, which
  // refuse it, and opens as a new replica if this is set and it lies in another
  // directory than when it was last opened, or a peer has refused it since. So
  // set this for the one opening that needs it: a database that was only moved
  // would become a new replica too.
  bool open_copy_as_new_replica = false;

  // The filter of the index, e.g. the one in rocksync/filter_policy.h; null:
  // RocksDB's Bloom filter with 10 bits a key.
  std::shared_ptr<const rocksdb::FilterPolicy> index_filter_policy;

  // Memory for the index's newest entries. About 80 bytes an entry.
  size_t index_write_buffer_bytes = size_t{32} << 20;

  // DeleteRange writes one tombstone for each key that it deletes, in one
  // batch. Above this many keys it is refused, and
  // ReplicatedDB::DeleteRangeInChunks does it in several batches.
  uint64_t max_delete_range_keys = 10000;

  // Families with a merge operator in which Merge is allowed. A Merge is
  // resolved to a full value under the key's lock; of two Merges of one key on
  // different replicas at one time, one is lost, as with any two writes.
  // Without a mention here, a replicated family with a merge operator is
  // refused at open.
  std::vector<std::string> merge_families;

  // The application vouches that its compaction filters drop and change
  // nothing in replicated families. Without it such filters are refused.
  bool compaction_filters_drop_nothing = false;

  // A pair from a peer whose version lies further than this ahead of the local
  // clock is held back: not applied, and the local clock does not follow it.
  uint64_t max_clock_ahead_ms = 60000;
};

}  // namespace rocksync

#endif  // ROCKSYNC_OPTIONS_H_
