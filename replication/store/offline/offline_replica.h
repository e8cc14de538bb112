// Opens an offline replicated database read-only: what the protocol needs to
// compare it, and what tools need to know of it. Nothing is written.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_OFFLINE_REPLICA_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_OFFLINE_REPLICA_H_

#include <memory>
#include <string>
#include <vector>

#include "replication/session/storage_view.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/index/family_table.h"
#include "replication/store/index/index_reader.h"
#include "rocksdb/db.h"

namespace rocksync {

class OfflineReplica {
 public:
  // Opens a replica. `handles` are those of all families of `db`, the index
  // among them; both must outlive it. Returns InvalidArgument for a plain
  // database, another cluster or secret, an index that is not finished, or
  // foreign writes since.
  static rocksdb::Status Open(
      rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles,
      const std::string& cluster, const ClusterSecret& secret,
      std::unique_ptr<OfflineReplica>* replica);
  // Opens the replica of a `db` that is open for writing, without a look for
  // foreign writes: this opening has removed traces of them, so call Open on
  // the offline database first.
  static rocksdb::Status OpenToWrite(
      rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles,
      const std::string& cluster, const ClusterSecret& secret,
      std::unique_ptr<OfflineReplica>* replica);

  // Returns the view of a session, which refuses Apply. TakeSnapshot reads the
  // whole index. The view must not outlive this.
  std::unique_ptr<StorageView> NewView() const;

  const IdentityRecord& identity() const { return identity_; }
  uint64_t lease() const { return lease_; }
  const std::string& mark() const { return mark_; }  // empty: it has none
  const IndexReader& reader() const { return *reader_; }
  const FamilyTable& table() const { return *families_; }
  // The replicated families, by ordinal.
  const std::vector<Family>& families() const { return families_->families(); }
  std::vector<std::string> family_names() const;

 private:
  OfflineReplica() = default;
  struct Records {
    ClusterRecord cluster;
    WorkRecord work;
    std::vector<FamilyRecord> families;
  };
  // Reads all records that the index has of these, some into members.
  rocksdb::Status ReadRecords(rocksdb::DB* db,
                              rocksdb::ColumnFamilyHandle* index,
                              Records* records);
  rocksdb::Status ReadMarkAndLease(rocksdb::DB* db,
                                   rocksdb::ColumnFamilyHandle* index);
  // Checks that the replica is this cluster's, and that its index is built.
  static rocksdb::Status CheckRecords(const std::string& name,
                                      const Records& records,
                                      const std::string& cluster_name,
                                      const ClusterSecret& secret);

  std::unique_ptr<const ElementHasher> hasher_;
  std::shared_ptr<const FamilyTable> families_;
  std::unique_ptr<IndexReader> reader_;
  IdentityRecord identity_;
  GcState gc_;
  uint64_t lease_ = 0;
  std::string mark_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_OFFLINE_REPLICA_H_
