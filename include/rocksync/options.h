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
#include "rocksync/limits.h"

namespace rocksdb {
class FilterPolicy;
}

namespace rocksync {

// Every replica of a cluster is opened with the same cluster_secret,
// cluster_name and families, and each family has the same comparator; the rest
// may differ.
struct ReplicatedDBOptions {
  // 32 random bytes, the same on all replicas, never sent. They keep clients of
  // the store from computing the hashes that prove replicas equal. All zero
  // (the default) is refused. Changing the secret of an existing database is
  // refused too: the index was computed with it. ReadClusterSecret
  // (cluster_secret.h) reads it from a file.
  std::array<uint8_t, 32> cluster_secret{};

  // Names the cluster; replicas of another cluster are refused. Required. Of an
  // existing database it cannot be changed either.
  std::string cluster_name;

  // Names of the replicated column families. Empty: all of them. Writes to the
  // others pass through untouched. A name that no family has (yet) is no error,
  // but RocksDB's LOG warns of it, and `rocksync status` lists it, as it may be
  // a typo; ReplicatedDB::ReplicatedFamilies says which are replicated. A
  // family that is created while the database is open is replicated if it is
  // named here, or if this is empty.
  //
  // A family that was replicated when the database was last open, and now is
  // not named, or is not there any more (dropped or made anew without the
  // library), is refused: what the index knows of it would be thrown away. See
  // discard_history_of.
  std::vector<std::string> families;

  // Families of which the index may discard all that it knows, at this opening:
  // those that shall not be replicated any more, and those that were dropped
  // (or dropped and made anew under the same name) without rocksync. Their
  // data stay. If such a family is replicated later, or was made anew, its
  // pairs are adopted: any version that a peer has of a key beats them, and
  // what was deleted comes back. A name that is not needed is ignored. Clear
  // this after the opening.
  std::vector<std::string> discard_history_of;

  // Sees every batch from peers before it is applied; may be null.
  std::shared_ptr<ApplyHook> hook;

  // How pairs from peers are written. disableWAL is refused, and so is a
  // protection_bytes_per_key that RocksDB does not know. The library sets
  // no_slowdown itself, so that Replicator::Stop need not wait for the end of a
  // stall. low_pri has no effect, since RocksDB would then refuse such writes
  // for as long as there is anything to compact.
  rocksdb::WriteOptions apply_write_options;

  // Take over an existing plain database: its pairs are hashed in the
  // background while the application reads and writes, one read of everything.
  // Until that is done, peers are refused with the percentage. False: such a
  // database is refused with InvalidArgument.
  //
  // Adopted pairs are unversioned (version 0), as nothing says how old they
  // are. If two replicas adopt different values of a key, the greater element
  // hash wins on both and the other value is gone; a key that was deleted in
  // one database comes back from the other. No log names such keys. So adopt
  // data on one replica and begin the others empty, or adopt copies of one
  // database; or compare first, by `rocksync diff` or, before the first
  // session, by Replicator::Verify (docs/operating.md).
  bool adopt_existing = true;

  // The index of this database is lost, or a part of it that it cannot do
  // without (RocksDB's RepairDB may drop it, see below): by the file ROCKSYNC
  // in its directory there was one. False: refused with Corruption, since which
  // pairs are newer than those of peers, and what was deleted, is not known any
  // more. True: what is left of the index is dropped, the pairs are adopted as
  // with adopt_existing, and this is a new replica. Any version that a peer has
  // of a key beats such a pair, and deletes that only the index knew of are
  // undone. Better is a new, empty replica, which peers fill. For the one
  // opening that needs it.
  //
  // Where the index has lost all entries of one family, and not those of
  // others, it stays, the pairs of that family alone are adopted, and the
  // replica remains what it is.
  //
  // RepairDB(name, options, families) drops the families that it is not told
  // of, the index too. RepairDB(name, options) keeps those of which it finds a
  // table file: after it the index may be lost, or be there and older than the
  // data (then see open_copy_as_new_replica). On a database with several
  // families not all of which were flushed RepairDB may fail by itself
  // ("force_consistency_checks ... VersionBuilder"), with the library or
  // without.
  bool adopt_after_index_loss = false;

  // Opens a copy of a replica as a new replica, with an identity of its own:
  // two replicas with one identity would lose writes.
  //
  // False: Open refuses a copy that it recognises. The library keeps a file
  // ROCKSYNC in the database's directory, which checkpoints and backups do not
  // contain; Open refuses a database that has an index and no such file. The
  // file also records the state of the index at the last close, by which Open
  // recognises an older state put back in place, a lost log, and what RepairDB
  // left.
  //
  // True: Open gives such a database a new identity, and compares data and
  // index in the background.
  //
  // A directory copied by `cp -a` contains the file, so Open cannot tell it
  // from the original, and peers refuse it. With this option it gets a new
  // identity if one of these holds: it is in another directory than at an
  // earlier opening; a peer has refused it; it has met a replica of the same
  // identity. The same may hold for the original. So set the option for the
  // copy alone, and for one opening. A second opening with it changes nothing.
  // If the option has no effect, the LOG says so, and what to do if this is a
  // copy.
  bool open_copy_as_new_replica = false;

  // The id that a new replica gets, where this opening makes a database or
  // adopts a plain one; 0: the one that `rocksync id --make` wrote
  // there, else a random one. It lets several databases of one process, each
  // of a cluster of its own, share one certificate
  // (rocksync/shared_listener.h). No replica of this cluster may ever have had
  // the id: peers would take the new replica for an older state of the earlier
  // one, and refuse it. InvalidArgument if `rocksync id --make` wrote another.
  // No effect on what is a replica already, nor with open_copy_as_new_replica
  // or adopt_after_index_loss, which always give a random one.
  uint64_t new_replica_id = 0;

  // The filter of the index, e.g. the one in rocksync/filter_policy.h; null:
  // RocksDB's Bloom filter with 10 bits a key.
  std::shared_ptr<const rocksdb::FilterPolicy> index_filter_policy;

  // Memory for the index's newest entries. About 80 bytes an entry. At least
  // 64 KiB.
  size_t index_write_buffer_bytes = size_t{32} << 20;

  // DeleteRange writes one tombstone for each key that it deletes, in one
  // batch. Above this many keys it is refused, and
  // ReplicatedDB::DeleteRangeInChunks does it in several batches. At least 1.
  uint64_t max_delete_range_keys = 10000;

  // Writes of a larger key or value to a replicated family are refused with
  // InvalidArgument, the result of a Merge included, and so is one that a peer
  // offers. At most kMaxKeyBytes and kMaxValueBytes (rocksync/limits.h). A
  // larger pair that is there already, since it was adopted or the limit was
  // higher, stays: it does not travel, is named in the log and counted
  // (IndexStats::pairs_too_large), and everything else goes on. It may be
  // deleted. A replica that has it is not proven equal to one that has not. A
  // session holds up to four times a value in memory.
  size_t max_key_bytes = kMaxKeyBytes;
  size_t max_value_bytes = size_t{64} << 20;

  // Writes to replicated families, and pairs from peers, are refused with
  // Status::NoSpace while the disk of the database, of its WAL or of one of
  // db_paths and cf_paths has less room than this and what memtables will take;
  // deletes while it has less than half of this. Reads go on, and writes go on
  // by themselves once there is room. RocksDB itself cannot get out of a disk
  // that is full to the last byte. 0: no such check.
  uint64_t min_free_bytes = uint64_t{64} << 20;

  // Families with a merge operator in which Merge is allowed. A Merge is
  // resolved to a full value under the key's lock; of two Merges of one key on
  // different replicas at one time, one is lost, as with any two writes.
  // Without a mention here, a replicated family with a merge operator is
  // refused at open.
  std::vector<std::string> merge_families;

  // The application guarantees that its compaction filters drop and change
  // nothing in replicated families. Without it such filters are refused. The
  // index does not notice what a filter drops or changes in spite of this
  // promise: replicas are called equal, until the next scrub takes it for
  // damage and the next session brings the pairs back.
  bool compaction_filters_drop_nothing = false;

  // The application guarantees that the comparators of replicated families call
  // two keys equal only if their bytes are. Two spellings of one key would be
  // one pair in RocksDB and two in the index, of which replicas could never
  // agree. Without it a comparator is refused whose
  // CanKeysWithDifferentByteContentsBeEqual() is true, as it is by default for
  // comparators of an application; better override it there.
  bool comparators_tell_all_bytes_apart = false;

  // A pair from a peer whose version lies further than this ahead of the local
  // clock is held back: not applied, and the local clock does not follow it. 0:
  // every version later than the local clock is held back, so clocks that agree
  // to the millisecond are needed. UINT64_MAX: nothing is ever held back.
  uint64_t max_clock_ahead_ms = 60000;
};

}  // namespace rocksync

#endif  // ROCKSYNC_OPTIONS_H_
