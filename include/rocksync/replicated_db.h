// A RocksDB database that can be made equal to its replicas.

#ifndef ROCKSYNC_REPLICATED_DB_H_
#define ROCKSYNC_REPLICATED_DB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/utilities/stackable_db.h"
#include "rocksync/options.h"
#include "rocksync/stats.h"

namespace rocksync {

class Store;

// The column family that the index lives in. It shows in
// DB::ListColumnFamilies; the application never opens it.
inline constexpr char kIndexFamilyName[] = "__rocksync_index";

// An earlier opening of a replica.
struct PastIncarnation {
  uint64_t incarnation = 0;
  uint64_t incarnation_nonce = 0;
  uint64_t next_clock = 0;  // what the opening right after it started from
};

// Who a replica is. What a peer has to remember to notice a replica that was
// rolled back, or a second one with the same identity (a copied directory).
struct ReplicaIdentity {
  uint64_t replica_id = 0;         // random, made at first open, never 0
  uint64_t incarnation = 0;        // counts the openings
  uint64_t incarnation_nonce = 0;  // random, new with every opening
  uint64_t first_clock = 0;  // the clock's reading when this opening began
  uint64_t clock = 0;  // its latest reading that is durable: after any crash
                       // the clock starts from no less
  // All earlier openings after the one with this number, the latest 64; a
  // replica that its peers met in another one is a copy, or of an old backup.
  uint64_t past_since = UINT64_MAX;
  std::vector<PastIncarnation> past;
};

// How far the reading of an existing database is, or the check of one that
// somebody wrote to without the library.
struct AdoptionProgress {
  bool done = true;
  double percent = 100;     // estimated, 0..100
  uint64_t pairs_read = 0;  // since this opening
  std::string activity;     // "", "adopting", "re-checking"
  // Background errors, e.g. a full disk; the work is tried again.
  rocksdb::Status status;
};

// What the index holds and has met, for people and tests.
struct IndexStats {
  uint64_t suspect_pairs = 0;      // met since opening; see index_format.md
  uint64_t repaired_pairs = 0;     // suspect ones that a peer's pair replaced
  uint64_t held_back_pairs = 0;    // from peers, too far in the future
  uint64_t held_back_replica = 0;  // which issued the latest of them
  uint64_t digest_rescans = 0;     // readyings of digests that read everything
  uint64_t digest_entries_read = 0;  // entries read for digests, all in all
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
// Reads are RocksDB's own. Writes to replicated families hold the lock of their
// keys while they are written, so that for each key the order of versions is
// the order of commits; data and index go in one WriteBatch.
//  * Put, Delete, Write: as in RocksDB. One version a batch; the application's
//    batch is not altered; several operations on one key apply in order. The
//    batch is atomic here; its pairs arrive at a peer in any order.
//  * SingleDelete is written as Delete.
//  * Merge is resolved under the lock, see ReplicatedDBOptions::merge_families.
//  * DeleteRange deletes the keys held at that moment, one tombstone each.
//  * Refused with NotSupported or InvalidArgument and a message that names the
//    remedy: WriteOptions::disableWAL, PutEntity, user-defined timestamps,
//    IngestExternalFile(s), DeleteFile, CreateColumnFamilyWithImport.
//  * CreateColumnFamily: the family is replicated if the options say so.
//    DropColumnFamily: data and index go, at the price of a scan of the index;
//    nothing of it travels. Peers whose families differ are refused by name, so
//    create and drop a family on every replica.
// Thread-safe as rocksdb::DB is. Errors are Status, nothing throws.
class ReplicatedDB : public rocksdb::StackableDB {
 public:
  // As rocksdb::DB::Open(options, name, db). The caller owns `*db`.
  //
  // Errors beside RocksDB's own: InvalidArgument or NotSupported name the
  // option that replication cannot live with and what to do; an index written
  // by a newer version of the library is refused; a copy of another replica is
  // refused with Status::SubCode kNone and Aborted, see
  // open_copy_as_new_replica.
  static rocksdb::Status Open(const rocksdb::Options& options,
                              const ReplicatedDBOptions& replication,
                              const std::string& name, ReplicatedDB** db);

  // As rocksdb::DB::Open with column families: all of them must be named, save
  // the index, which is added. Handles belong to the caller, who gives them
  // back by DestroyColumnFamilyHandle (not by delete) before the database; a
  // session that still reads through one keeps it until it is done.
  static rocksdb::Status Open(
      const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
      const std::string& name,
      const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
      std::vector<rocksdb::ColumnFamilyHandle*>* handles, ReplicatedDB** db);

  // Takes the index out of the database in `name`, which must not be open.
  // Data are not touched. A later Open adopts it anew, as a new replica.
  // `column_families`: those of the database that cannot be opened with default
  // options (comparator, merge operator); others are found.
  static rocksdb::Status Detach(
      const rocksdb::DBOptions& options, const std::string& name,
      const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families = {});

  // The remedy on a replica whose clock had jumped ahead, for a database that
  // is not open, once the machine's clock is right again. Pairs and tombstones
  // that this very replica wrote at versions further ahead than
  // `replication.max_clock_ahead_ms`, and which all peers therefore hold back,
  // get one fresh version, later than everything else in the database; and the
  // clock starts anew from there. That reinvents nothing: no other replica has
  // accepted the old versions. Not for a cluster in which a peer, by a larger
  // max_clock_ahead_ms or a wrong clock of its own, did accept them.
  // `column_families` as for Detach. Reads the index twice, and writes what it
  // changes; after an interruption call it again.
  static rocksdb::Status Restamp(
      const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
      const std::string& name,
      const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
      RestampResult* result);

  // Closes as Close() does and ignores its status.
  ~ReplicatedDB() override;

  // Names of the replicated families, in ascending order.
  std::vector<std::string> ReplicatedFamilies() const;

  const ReplicatedDBOptions& replication_options() const;

  ReplicaIdentity Identity() const;

  // Compares what a peer says it is with what this replica remembers of it and,
  // if they agree, remembers it durably. Aborted: the peer was rolled back or
  // is one of two replicas with one identity; the message says which.
  // One synced write if anything changed.
  rocksdb::Status RememberPeer(const ReplicaIdentity& peer);

  // Names the replicas of the cluster, so that tombstones of deleted keys can
  // go once all of them are known to hold them. Without a list (epoch 0) they
  // are kept for ever. Durable when it returns.
  //
  // To be called on one replica that is a member and has the newest list (or,
  // the first time, on any): the others take the list over when they meet one
  // that has it. A list set where the one before has not arrived yet does not
  // follow it, and who came in by that one is refused; so before the only
  // replica that has the newest list is removed, another has to have it too
  // (GetForgettingStats says which epoch a replica has). After disks were
  // replaced by older states of them, a list belongs on a replica that none of
  // the others refuses. `epoch` must be larger than any before, and
  // `replica_ids` must include this replica. A replica that is absent keeps
  // tombstones from going, for as long as it takes (GetForgettingStats says
  // who); one that will not come back is removed by a list without it. It is
  // then refused, and may be started anew, empty. A new replica joins empty, or
  // from a recent copy of a member.
  //
  // InvalidArgument names what is wrong with the list. Cost: a synced write;
  // writers wait for it.
  rocksdb::Status SetMembers(uint64_t epoch,
                             const std::vector<uint64_t>& replica_ids);

  // Forgets now what all members are known to hold. It happens by itself after
  // a session once 1 in 50 elements would go. Peers follow when they are next
  // met. Reads the parts of the index that change. OK also if there is nothing
  // to forget.
  rocksdb::Status ForgetTombstones();

  // O(members).
  ForgettingStats GetForgettingStats() const;

  AdoptionProgress Adoption() const;

  // Waits until the adoption or re-check is done. Incomplete once
  // `timeout_ms` have passed.
  rocksdb::Status WaitForAdoption(uint64_t timeout_ms) const;

  IndexStats GetIndexStats() const;

  // DeleteRange for any number of keys, in batches of max_delete_range_keys
  // each. Not atomic: other threads see a part of it done, and after an error
  // or a crash a part of it stays done. `deleted` may be null.
  rocksdb::Status DeleteRangeInChunks(const rocksdb::WriteOptions& options,
                                      rocksdb::ColumnFamilyHandle* family,
                                      const rocksdb::Slice& begin_key,
                                      const rocksdb::Slice& end_key,
                                      uint64_t* deleted);

  // Ends background work, writes down what makes the next Open quick, and
  // closes the database. No other call may run meanwhile.
  rocksdb::Status Close() override;

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
  using StackableDB::PutEntity;
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
  using StackableDB::Merge;
  rocksdb::Status Merge(const rocksdb::WriteOptions& options,
                        rocksdb::ColumnFamilyHandle* family,
                        const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override;
  rocksdb::Status Write(const rocksdb::WriteOptions& options,
                        rocksdb::WriteBatch* batch) override;

  using StackableDB::IngestExternalFile;
  rocksdb::Status IngestExternalFile(
      rocksdb::ColumnFamilyHandle* family,
      const std::vector<std::string>& files,
      const rocksdb::IngestExternalFileOptions& options) override;
  using StackableDB::IngestExternalFiles;
  rocksdb::Status IngestExternalFiles(
      const std::vector<rocksdb::IngestExternalFileArg>& args) override;
  using StackableDB::CreateColumnFamilyWithImport;
  rocksdb::Status CreateColumnFamilyWithImport(
      const rocksdb::ColumnFamilyOptions& options, const std::string& name,
      const rocksdb::ImportColumnFamilyOptions& import_options,
      const rocksdb::ExportImportFilesMetaData& metadata,
      rocksdb::ColumnFamilyHandle** handle) override;
  rocksdb::Status DeleteFile(std::string name) override;

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

 private:
  friend class StoreAccess;  // how the replicator reaches the store

  ReplicatedDB(rocksdb::DB* db, std::unique_ptr<Store> store);

  std::unique_ptr<Store> store_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATED_DB_H_
