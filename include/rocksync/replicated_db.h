// A RocksDB database that can be made equal to its replicas.

#ifndef ROCKSYNC_REPLICATED_DB_H_
#define ROCKSYNC_REPLICATED_DB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/transaction_log.h"
#include "rocksync/change_feed.h"
#include "rocksync/options.h"
#include "rocksync/stats.h"
#include "rocksync/version_specific_db.h"

namespace rocksync {

class Store;
struct CloneOptions;  // rocksync/clone.h
struct CloneResult;
struct FormerOwner;
struct ResyncOptions;
struct ResyncResult;

// The column family that the index lives in. It shows in
// DB::ListColumnFamilies; the application never opens it.
inline constexpr char kIndexFamilyName[] = "__rocksync_index";

// Who a replica is.
struct ReplicaIdentity {
  uint64_t replica_id = 0;   // see ReplicatedDBOptions::new_replica_id; never 0
  uint64_t incarnation = 0;  // counts the openings
};

// How far the index build is: the background work that brings the index in line
// with the data. It adopts an existing database, re-checks one with foreign
// writes (those that bypass rocksync), and purges entries of families that are
// replicated no more.
struct IndexBuildProgress {
  bool done = true;
  double percent = 100;  // estimated, 0..100; earlier openings count
  // By all such reading since this opening; 0 after the next one.
  uint64_t pairs_read = 0;
  std::string activity;  // "", "adopting", "re-checking", "purging"
  // Background errors, e.g. a full disk; the work is tried again.
  rocksdb::Status status;
};

// What the index holds and has met, for monitoring.
struct IndexStats {
  uint64_t pairs_quarantined = 0;  // met since opening; see index_format.md
  // Entries held that are quarantined, exactly, as of the latest session or, if
  // there was one before a clean close, the opening; 0 before the first one.
  // They are in no digest: while there is one here or at a peer, the two are
  // not proven equal.
  uint64_t quarantined_now = 0;
  uint64_t pairs_repaired = 0;  // quarantined ones that a peer's pair replaced
  uint64_t pairs_released = 0;  // quarantined ones that matched when read again
  uint64_t entries_repaired = 0;  // of the index, with one bit flipped
  uint64_t entries_removed = 0;   // of the index, that were no key's
  // How often a pair came that is too far in the future. Each try counts.
  uint64_t pairs_held_back = 0;
  // Which issued the latest of them, if one was held back within the last
  // minute.
  uint64_t held_back_replica = 0;
  uint64_t pairs_too_large = 0;  // met, too large to send or take
  // Digests that were not those of the entries, which happens only after damage
  // to the index. A session that meets such ones may fail; they are read anew.
  uint64_t wrong_digests = 0;
  uint64_t digest_rescans = 0;       // digest computations that read everything
  uint64_t digest_entries_read = 0;  // entries read for digests, all in all
  // Operations, and ranges of keys in files, that bypassed rocksync while
  // the database was open and were noticed; see ReplicatedDB.
  uint64_t foreign_writes = 0;
};

// A key that ReplicatedDB::Update reads and may change. `key` points to bytes
// of the caller's.
struct UpdatedKey {
  rocksdb::ColumnFamilyHandle* family = nullptr;
  rocksdb::Slice key;
};

// What ReplicatedDB::Restamp did.
struct RestampResult {
  uint64_t entries_read = 0;       // pairs and tombstones
  uint64_t restamped = 0;          // of them
  uint64_t damaged = 0;            // left, since they do not match the index
  uint64_t furthest_ahead_ms = 0;  // of the clock, before
  PairVersion version;             // what the restamped ones have now
};

// Opens a database like rocksdb::DB::Open and keeps, beside the application's
// column families, an index of what is in them. Data stay as the application
// wrote them: RocksDB reads them without this library, and Detach (or `rocksync
// detach DIR`) takes the index away.
//
// Cost: a put or a delete reads nothing. It takes the lock of its key, hashes
// the pair and adds one index entry to its batch: about 54 bytes more in the
// log for a put and 38 for a delete, and about 71 bytes on disk for each pair
// with a short key. In memory the digests of the leaves take 2.5 MiB, notes of
// what was written since they were last asked for at most 8 MiB, and entries
// that are not flushed yet at most
// ReplicatedDBOptions::index_write_buffer_bytes.
// `./dev bench cost` and `./dev bench write` measure it.
//
// Reads are RocksDB's own. Writes to replicated families hold the lock of their
// keys while they are written, so that for each key the order of versions is
// the order of commits; data and index go in one WriteBatch.
//  * Put, Delete, Write: as in RocksDB. One version a batch; the application's
//    batch is not altered; several operations on one key apply in order. The
//    batch is atomic here; its pairs arrive at a peer in any order. A write
//    with WriteOptions::no_slowdown returns Incomplete, and writes nothing,
//    where it would wait; a listener of RocksDB's that writes has to set it.
//  * SingleDelete is written as Delete.
//  * Merge is resolved under the lock, see ReplicatedDBOptions::merge_families.
//  * DeleteRange deletes the keys held at that moment, one tombstone each. An
//    end before its beginning is InvalidArgument, as RocksDB's memtable says.
//  * Refused with NotSupported or InvalidArgument and a message that names the
//    remedy: calls and options that would bypass the index or could lose what
//    was synced, and keys and values above ReplicatedDBOptions::max_key_bytes
//    and max_value_bytes. docs/differences.md lists them.
//  * CreateColumnFamily and DropColumnFamily: create and drop a replicated
//    family on every replica, and drop it on every one before it is made anew
//    on any, else the old pairs come back. Handles go back by
//    DestroyColumnFamilyHandle before Close; `delete handle` ends the process
//    at Close. docs/differences.md has the details.
//  * A foreign write, one that bypasses rocksync (through GetBaseDB() or
//    another program, for example), is noticed within about a second, and
//    before a session or a scrub relies on the index. Sessions are refused
//    until all has been compared; the change then gets a version and travels.
//    See docs/differences.md.
//
// Thread-safe as rocksdb::DB is. Errors are Status, nothing throws.
class ReplicatedDB : public VersionSpecificDB {
 public:
  // As rocksdb::DB::Open(options, name, db). The caller owns `*db`.
  //
  // Errors beside RocksDB's own: InvalidArgument or NotSupported name the
  // option that replication cannot live with and what to do; an index written
  // by a newer version of the library is refused; a copy of another replica is
  // refused with Aborted (no subcode), see open_copy_as_new_replica.
  //
  // After fork, in a child whose parent had opened a database before (RocksDB's
  // threads are not in the child, and both would write to one log):
  // - Open and writes to the parent's database are NotSupported, Close is
  //   Aborted. Deleting the database only leaks it. What RocksDB writes around
  //   this class (GetRootDB) is not looked at.
  // - A child that was forked in a callback and returns from it ends with a
  //   message. In the function of an Update it returns, with NotSupported.
  // - A transport of the parent's is not used (tls_transport.h): make one.
  static rocksdb::Status Open(const rocksdb::Options& options,
                              const ReplicatedDBOptions& replication,
                              const std::string& name, ReplicatedDB** db);

  // As rocksdb::DB::Open with column families: all of them must be named, each
  // once, save the index, which is added. Handles belong to the caller, who
  // gives them back by DestroyColumnFamilyHandle (not by delete) before the
  // database; a session that still reads through one keeps it until it is done.
  // If the index is named, too, as rocksdb::LoadLatestOptions does, its options
  // are the library's all the same, and its handle is null. Take it out of the
  // handles: a write refuses a null handle, and a read crashes, as RocksDB's
  // do.
  // (rocksync/options_file.h leaves the index out.)
  static rocksdb::Status Open(
      const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
      const std::string& name,
      const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
      std::vector<rocksdb::ColumnFamilyHandle*>* handles, ReplicatedDB** db);

  // Takes the index out of the database in `name`, which must not be open.
  // Data are not touched. A later Open adopts it anew, as a new replica.
  // `options` must be the database's own as far as they say where its files are
  // (wal_dir, db_paths, env): InvalidArgument if they miss its log. Whatever
  // the moment of a crash, the database is as it was, or plain. Also for one
  // whose index is lost.
  // `column_families`: those of the database that cannot be opened with default
  // options (comparator, merge operator); others are found. InvalidArgument:
  // the log has Merge records of one whose operator is not given. The OPTIONS
  // file stays as it was, but for the index.
  static rocksdb::Status Detach(
      const rocksdb::DBOptions& options, const std::string& name,
      const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families = {});

  // The remedy on a replica whose clock had jumped ahead, for a database that
  // is not open, once the machine's clock is right again. Pairs and tombstones
  // that this very replica wrote at versions further ahead than
  // `replication.max_clock_ahead_ms`, and which all peers therefore hold back,
  // get one fresh version, later than everything else in the database; and the
  // clock starts anew from there. No peer sees two versions for one write: none
  // has accepted the old ones. Not for a cluster in which a peer, by a larger
  // max_clock_ahead_ms or a wrong clock of its own, did accept them.
  // `options` and `column_families` as for Detach. A database that is refused
  // (another cluster or secret, a copy, data written without rocksync) is
  // left as it was. Reads the index twice, and writes what it changes; after an
  // interruption call it again.
  static rocksdb::Status Restamp(
      const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
      const std::string& name,
      const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
      RestampResult* result);

  // Makes a new replica in the directory `name`, as a copy of the running one
  // at `clone.source`: its files are copied over the replicas' own transport
  // while it goes on taking writes, compared by checksums, opened with these
  // options under an identity of its own, and proven equal to the source by one
  // session, which also brings what was written meanwhile; then closed. Open it
  // as any other. Several times as fast as a session with an empty replica.
  //
  // `name` must not be there yet, or be empty, or hold a clone that was
  // interrupted: then what is there already is compared, and not copied again.
  // Until all is copied neither Open nor RocksDB's own opens the directory.
  // All column families of the source come along, replicated or not, and have
  // to be named. `options.db_paths`, `wal_dir` and families' `cf_paths` are
  // refused: the copy lies in one directory.
  //
  // OK: the replica is there; `result->proven_equal` is false if the session
  // could not prove it, for example since a member list of the cluster does not
  // name it yet (docs/operating.md). InvalidArgument: an option, or one of the
  // two refuses the other, or `name` holds something else, or lies in the
  // directory of another database. Busy: the source cannot serve it now, or
  // another program works in `name`. NoSpace: with how much is needed. IOError,
  // TimedOut: the connection, or (IOError) the source's storage. Aborted:
  // cancelled. After an error call it again with the same arguments; it
  // resumes. So it does after the process was killed, until the copy was
  // opened: then `name` holds a replica (InvalidArgument), which Open opens and
  // whose first session proves it equal. Blocks; starts `clone.connections`
  // threads and two more. `result` may be null.
  static rocksdb::Status Clone(
      const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
      const std::string& name,
      const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
      const CloneOptions& clone, CloneResult* result);

  // Brings a replica up to date that lacks much, or differs in much, for a
  // database that is not open: a copy of the running replica at
  // `resync.copy.source` is made beside it, as Clone makes it, gets by their
  // versions the pairs and tombstones that only this replica has, and takes its
  // place. It remains the replica that it was, under its own certificate
  // (`resync.copy.transport`), and a session proves it equal. Afterwards open
  // it as always. If few pairs are to come (`resync.copy_from_share`), that
  // session brings them, and nothing is copied. A copy needs as much room on
  // the disk as the source takes.
  //
  // Readers see the one state or the other: until the copy takes its place the
  // directory `name` is as it was, and Open opens it. An ApplyHook is told of
  // nothing but the session; sequence numbers, GetUpdatesSince and archived log
  // files are the source's afterwards. The copy is made in
  // `name` + ".resync", what is replaced goes to `name` + ".replaced", which
  // must not be there, and is removed, as far as that goes. Files of others in
  // `name` stay.
  //
  // OK: `result->copy.proven_equal` is false if the session could not prove it;
  // the first one of a replicator goes on. InvalidArgument: an option, no
  // replica is there, or one of the two refuses the other (a member list
  // without it, say, or a replica that was away for too long, as in a session).
  // NotSupported: families that are not replicated, or paths, as for Clone.
  // Aborted: cancelled; or the replica has quarantined pairs. Corruption: a
  // pair that it alone has does not read. TryAgain: the source restarted, its
  // clock is too far ahead, or the member list changed. Else as Clone. After an
  // error, or a crash, the replica is there as it was, or resynced if the copy
  // stood in its place already; call it again: it copies the source anew, but
  // for files that are the same. If you do not, remove `name` + ".resync".
  // Blocks. `result` may be null.
  static rocksdb::Status Resync(
      const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
      const std::string& name,
      const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
      const ResyncOptions& resync, ResyncResult* result);

  // Stops a replicator of it that still runs, closes as Close() does, and
  // ignores its status.
  ~ReplicatedDB() override;

  // Names of the replicated families, in ascending order. Copies the names.
  // None of these getters does IO unless it says so.
  std::vector<std::string> ReplicatedFamilies() const;

  const ReplicatedDBOptions& replication_options() const;

  ReplicaIdentity Identity() const;

  // Names the replicas of the cluster, so that tombstones of deleted keys can
  // go once all of them are known to hold them. Without a list (epoch 0) they
  // are kept permanently. Durable when it returns.
  //
  // `epoch` numbers the list: 1 for the first, then always larger than any
  // before, by at most 2^32 (so that one mistake leaves epochs for later
  // lists). `replica_ids` must include this replica; at most kMaxMembers
  // (rocksync/limits.h).
  //
  // Set a list on one replica only, a member that has the newest list
  // (TombstoneGcStats::epoch; the first list on any replica). The others take
  // it over when they meet a replica that has it. A replica that has an older
  // list knows nothing of the members that the newest one added: if the next
  // list is set there, those members are refused. So before you remove the only
  // replica that has the newest list, let another one take it over. If some
  // disks were rolled back to older states, set the list on a replica that no
  // other one refuses.
  //
  // A member that is absent keeps tombstones from going, for as long as it is
  // away (TombstoneGcStats::held_up_by). One that will not come back is removed
  // by a list without it; it is then refused, also if a later list names its id
  // again, and may be started anew, empty, with another id. A new replica joins
  // empty, or from a recent copy of a member. Recipes are in docs/operating.md.
  //
  // InvalidArgument names what is wrong with the list. Busy: RocksDB stalls
  // writes, and nothing is set; call it again. Cost: a synced write; writers
  // wait for it.
  rocksdb::Status SetMembers(uint64_t epoch,
                             const std::vector<uint64_t>& replica_ids);

  // A feed of what peers change here from now on, see rocksync/change_feed.h.
  // Any number of feeds, each with a buffer of its own, into which each batch
  // that is applied is copied once. InvalidArgument: the
  // buffer is too small. Aborted: the database is closed.
  rocksdb::Status Subscribe(const ChangeFeedOptions& options,
                            std::unique_ptr<ChangeFeed>* feed);

  // Collects the tombstones that all members are known to hold, now. This
  // happens by itself after a session once 1 in 50 elements would go. Peers
  // follow when they are next met. Reads the parts of the index that change. OK
  // also if there is nothing to collect.
  rocksdb::Status CollectTombstones();

  // O(members).
  TombstoneGcStats GetTombstoneGcStats() const;

  // Asks the file system for the free space of each of its directories.
  DiskSpaceStats GetDiskSpaceStats() const;

  // O(1).
  IndexBuildProgress GetIndexBuildProgress() const;

  // Waits until the index build is done. Incomplete once
  // `timeout_ms` have passed. InvalidArgument in a callback of the database,
  // whose locks the build may wait for.
  rocksdb::Status WaitForIndexBuild(uint64_t timeout_ms) const;

  // O(1): counters.
  IndexStats GetIndexStats() const;

  // DeleteRange for any number of keys, in batches of max_delete_range_keys
  // each. Not atomic: other threads see a part of it done, and after an error
  // or a crash a part of it stays done. `deleted` may be null.
  rocksdb::Status DeleteRangeInChunks(const rocksdb::WriteOptions& options,
                                      rocksdb::ColumnFamilyHandle* family,
                                      const rocksdb::Slice& begin_key,
                                      const rocksdb::Slice& end_key,
                                      uint64_t* deleted);

  // Reads a key, and writes what `change` makes of its value, while nobody else
  // writes that key: no other thread, and no session with what peers wrote,
  // which a mutex of the application's could not hold off. nullopt is a key
  // that is not there, and deletes one that is. A value that `change` leaves as
  // it was is not written.
  //
  //   db->Update({}, family, "tags", [](std::optional<std::string>* value) {
  //     if (!value->has_value()) value->emplace();
  //     (*value)->append(",blue");
  //     return rocksdb::Status::OK();
  //   });
  //
  // What is written is replicated like a Put or Delete: of two replicas that
  // update a key without having met, one's update wins and the other's is lost.
  // (A counter that adds up needs a key for each replica.)
  //
  // `change` is called once, or not at all if an error comes first; its own
  // error is returned, and nothing is written. It must not throw, should be
  // quick (all writers may come to wait for it), and may read the database, but
  // not write: all writes to replicated families, SetMembers,
  // CollectTombstones, CreateColumnFamily (also with an import) and
  // DropColumnFamily return InvalidArgument in it. Nor may it wait for a thread
  // that writes, or for a session (SyncNow). With no_slowdown Update is
  // Incomplete where a Put would be; `change` may have been called.
  //
  // Errors, with nothing written: NotSupported for a family that is not
  // replicated, since its writers hold no locks, for a wide-column entity, and
  // for disableWAL; InvalidArgument for a value above max_value_bytes or an
  // empty `change`; those of RocksDB's Get and Write. In families with a merge
  // operator the value is the merged one. Cost: a Get and a Put.
  rocksdb::Status Update(
      const rocksdb::WriteOptions& options, rocksdb::ColumnFamilyHandle* family,
      const rocksdb::Slice& key,
      const std::function<rocksdb::Status(std::optional<std::string>* value)>&
          change);

  // The same for several keys, of any replicated families, in one batch with
  // one version: `values` are those of `keys`, in their order. A key that is
  // named twice is InvalidArgument, and so is a `change` that alters how many
  // values there are.
  rocksdb::Status Update(
      const rocksdb::WriteOptions& options, const std::vector<UpdatedKey>& keys,
      const std::function<rocksdb::Status(
          std::vector<std::optional<std::string>>* values)>& change);

  // Ends background work, writes down what makes the next Open quick (where
  // RocksDB lets it: not while writes are stalled, which the info log tells),
  // and closes the database. No other call may run meanwhile. Aborted: a
  // Replicator of it still runs, the application holds a snapshot or an
  // iterator (also of GetUpdatesSince), or a callback of the database
  // (Update's, the hook, progress) runs in this thread; nothing has ended, and
  // Close may be called again once that is over. A PinnableSlice that is pinned
  // is not counted: as for RocksDB, it has to be released before. After any
  // other status the database is closed, as far as that succeeded: writes to
  // families, SetMembers and CollectTombstones return ShutdownInProgress then,
  // Close and the destructor may be called, and nothing else.
  rocksdb::Status Close() override;

  // The Aborted with which Close would refuse now, or OK, and changes nothing.
  // `iterators` of those that are held do not count: the caller deletes them
  // before Close. For callers that have to release something before Close.
  rocksdb::Status CheckClose(uint64_t iterators = 0) const;

  // As RocksDB's; Close knows how many iterators are held.
  using StackableDB::NewIterator;
  rocksdb::Iterator* NewIterator(const rocksdb::ReadOptions& options,
                                 rocksdb::ColumnFamilyHandle* family) override;
  rocksdb::Status NewIterators(
      const rocksdb::ReadOptions& options,
      const std::vector<rocksdb::ColumnFamilyHandle*>& families,
      std::vector<rocksdb::Iterator*>* iterators) override;
  rocksdb::Status GetUpdatesSince(
      rocksdb::SequenceNumber from,
      std::unique_ptr<rocksdb::TransactionLogIterator>* iterator,
      const rocksdb::TransactionLogIterator::ReadOptions& options =
          rocksdb::TransactionLogIterator::ReadOptions()) override;

  // The overridden calls of rocksdb::DB.
  using StackableDB::Put;
  rocksdb::Status Put(const rocksdb::WriteOptions& options,
                      rocksdb::ColumnFamilyHandle* family,
                      const rocksdb::Slice& key,
                      const rocksdb::Slice& value) override;
  rocksdb::Status Put(const rocksdb::WriteOptions& options,
                      rocksdb::ColumnFamilyHandle* family,
                      const rocksdb::Slice& key, const rocksdb::Slice& ts,
                      const rocksdb::Slice& value) override;
  using VersionSpecificDB::PutEntity;
  rocksdb::Status PutEntity(const rocksdb::WriteOptions& options,
                            rocksdb::ColumnFamilyHandle* family,
                            const rocksdb::Slice& key,
                            const rocksdb::WideColumns& columns) override;
  using StackableDB::Delete;
  rocksdb::Status Delete(const rocksdb::WriteOptions& options,
                         rocksdb::ColumnFamilyHandle* family,
                         const rocksdb::Slice& key) override;
  rocksdb::Status Delete(const rocksdb::WriteOptions& options,
                         rocksdb::ColumnFamilyHandle* family,
                         const rocksdb::Slice& key,
                         const rocksdb::Slice& ts) override;
  using StackableDB::SingleDelete;
  rocksdb::Status SingleDelete(const rocksdb::WriteOptions& options,
                               rocksdb::ColumnFamilyHandle* family,
                               const rocksdb::Slice& key) override;
  rocksdb::Status SingleDelete(const rocksdb::WriteOptions& options,
                               rocksdb::ColumnFamilyHandle* family,
                               const rocksdb::Slice& key,
                               const rocksdb::Slice& ts) override;
  using StackableDB::DeleteRange;
  rocksdb::Status DeleteRange(const rocksdb::WriteOptions& options,
                              rocksdb::ColumnFamilyHandle* family,
                              const rocksdb::Slice& begin_key,
                              const rocksdb::Slice& end_key) override;
  rocksdb::Status DeleteRange(const rocksdb::WriteOptions& options,
                              rocksdb::ColumnFamilyHandle* family,
                              const rocksdb::Slice& begin_key,
                              const rocksdb::Slice& end_key,
                              const rocksdb::Slice& ts) override;
  using StackableDB::Merge;
  rocksdb::Status Merge(const rocksdb::WriteOptions& options,
                        rocksdb::ColumnFamilyHandle* family,
                        const rocksdb::Slice& key, const rocksdb::Slice& ts,
                        const rocksdb::Slice& value) override;
  rocksdb::Status Merge(const rocksdb::WriteOptions& options,
                        rocksdb::ColumnFamilyHandle* family,
                        const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override;
  rocksdb::Status Write(const rocksdb::WriteOptions& options,
                        rocksdb::WriteBatch* batch) override;

  // Its writes would bypass rocksync.
  rocksdb::Status NewDefaultReplayer(
      const std::vector<rocksdb::ColumnFamilyHandle*>& handles,
      std::unique_ptr<rocksdb::TraceReader>&& reader,
      std::unique_ptr<rocksdb::Replayer>* replayer) override;

  using StackableDB::IngestExternalFile;
  rocksdb::Status IngestExternalFile(
      rocksdb::ColumnFamilyHandle* family,
      const std::vector<std::string>& files,
      const rocksdb::IngestExternalFileOptions& options) override;
  using StackableDB::IngestExternalFiles;
  rocksdb::Status IngestExternalFiles(
      const std::vector<rocksdb::IngestExternalFileArg>& args) override;
  using VersionSpecificDB::CreateColumnFamilyWithImport;
  rocksdb::Status CreateColumnFamilyWithImport(
      const rocksdb::ColumnFamilyOptions& options, const std::string& name,
      const rocksdb::ImportColumnFamilyOptions& import_options,
      const rocksdb::ExportImportFilesMetaData& metadata,
      rocksdb::ColumnFamilyHandle** handle) override;
  using StackableDB::CompactFiles;
  rocksdb::Status CompactFiles(
      const rocksdb::CompactionOptions& options,
      rocksdb::ColumnFamilyHandle* family,
      const std::vector<std::string>& input_file_names, int output_level,
      int output_path_id = -1,
      std::vector<std::string>* output_file_names = nullptr,
      rocksdb::CompactionJobInfo* info = nullptr) override;

  rocksdb::Status CreateColumnFamily(
      const rocksdb::ColumnFamilyOptions& options, const std::string& name,
      rocksdb::ColumnFamilyHandle** handle) override;
  rocksdb::Status CreateColumnFamilies(
      const rocksdb::ColumnFamilyOptions& options,
      const std::vector<std::string>& names,
      std::vector<rocksdb::ColumnFamilyHandle*>* handles) override;
  rocksdb::Status CreateColumnFamilies(
      const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
      std::vector<rocksdb::ColumnFamilyHandle*>* handles) override;
  rocksdb::Status DropColumnFamily(
      rocksdb::ColumnFamilyHandle* family) override;
  rocksdb::Status DropColumnFamilies(
      const std::vector<rocksdb::ColumnFamilyHandle*>& families) override;
  rocksdb::Status DestroyColumnFamilyHandle(
      rocksdb::ColumnFamilyHandle* family) override;

  using VersionSpecificDB::FlushWAL;
  rocksdb::Status FlushWAL(bool sync) override;
  rocksdb::Status SyncWAL() override;

  // Of another database's family RocksDB would write files that neither finds.
  using StackableDB::CompactRange;
  rocksdb::Status CompactRange(const rocksdb::CompactRangeOptions& options,
                               rocksdb::ColumnFamilyHandle* family,
                               const rocksdb::Slice* begin,
                               const rocksdb::Slice* end) override;
  using StackableDB::SuggestCompactRange;
  rocksdb::Status SuggestCompactRange(rocksdb::ColumnFamilyHandle* family,
                                      const rocksdb::Slice* begin,
                                      const rocksdb::Slice* end) override;
  using StackableDB::PromoteL0;
  rocksdb::Status PromoteL0(rocksdb::ColumnFamilyHandle* family,
                            int target_level) override;
  rocksdb::Status IncreaseFullHistoryTsLow(rocksdb::ColumnFamilyHandle* family,
                                           std::string ts_low) override;
  rocksdb::Status EnableAutoCompaction(
      const std::vector<rocksdb::ColumnFamilyHandle*>& families) override;
  // With DBOptions::atomic_flush the index is flushed with the families.
  using StackableDB::Flush;
  rocksdb::Status Flush(const rocksdb::FlushOptions& options,
                        rocksdb::ColumnFamilyHandle* family) override;
  rocksdb::Status Flush(
      const rocksdb::FlushOptions& options,
      const std::vector<rocksdb::ColumnFamilyHandle*>& families) override;

  // Refused in a child of fork, as they write to files of its parent, or wait
  // for threads of RocksDB's.
  rocksdb::Status SetDBOptions(
      const std::unordered_map<std::string, std::string>& options) override;
  rocksdb::Status PauseBackgroundWork() override;
  rocksdb::Status ContinueBackgroundWork() override;
  rocksdb::Status LockWAL() override;
  rocksdb::Status UnlockWAL() override;
  rocksdb::Status DisableFileDeletions() override;
  rocksdb::Status GetLiveFiles(std::vector<std::string>& files,
                               uint64_t* manifest_bytes,
                               bool flush_memtable) override;
  rocksdb::Status GetLiveFilesStorageInfo(
      const rocksdb::LiveFilesStorageInfoOptions& options,
      std::vector<rocksdb::LiveFileStorageInfo>* files) override;

  // StackableDB does not pass these on.
  rocksdb::Status Resume() override;
  void GetAllColumnFamilyMetaData(
      std::vector<rocksdb::ColumnFamilyMetaData>* metadata) override;
  rocksdb::Status GetStatsHistory(
      uint64_t start_time, uint64_t end_time,
      std::unique_ptr<rocksdb::StatsHistoryIterator>* iterator) override;

 private:
  friend class StoreAccess;  // how the replicator reaches the store

  ReplicatedDB(rocksdb::DB* db, std::unique_ptr<Store> store);

  // VersionSpecificDB's.
  rocksdb::Status CheckOpen() const override;
  rocksdb::Status CheckKnown(
      rocksdb::ColumnFamilyHandle* family) const override;
  rocksdb::Status CheckSetOptions(
      rocksdb::ColumnFamilyHandle* family,
      const std::unordered_map<std::string, std::string>& options)
      const override;
  void Hold(rocksdb::Cleanable* iterator) override;
  rocksdb::Status CheckNotReplicated(rocksdb::ColumnFamilyHandle* family,
                                     const std::string& call,
                                     const std::string& remedy) const override;
  CountedDB* Counted() const override;
  rocksdb::Status Import(const rocksdb::ColumnFamilyOptions& options,
                         const std::string& name,
                         const std::function<rocksdb::Status()>& import,
                         rocksdb::ColumnFamilyHandle** handle) override;

  rocksdb::Status TakePaths(const std::string& name,
                            const rocksdb::ColumnFamilyOptions& options,
                            std::vector<FormerOwner>* former) const;
  // After `created` of RocksDB: `*handle` is known to the store, or null.
  rocksdb::Status Created(const std::string& name,
                          const rocksdb::ColumnFamilyOptions& options,
                          const rocksdb::Status& created,
                          rocksdb::ColumnFamilyHandle** handle);

  std::unique_ptr<Store> store_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATED_DB_H_
