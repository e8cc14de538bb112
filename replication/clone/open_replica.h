// Owns a replicated database with its handles, open for a while.

#ifndef ROCKSYNC_REPLICATION_CLONE_OPEN_REPLICA_H_
#define ROCKSYNC_REPLICATION_CLONE_OPEN_REPLICA_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replication/store/store.h"
#include "replication/store/store_access.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

class OpenReplica {
 public:
  ~OpenReplica() { Close().PermitUncheckedError(); }

  // `predecessor`: see StoreAccess::Open.
  rocksdb::Status Open(
      const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
      const std::string& name,
      const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
      const Predecessor* predecessor = nullptr) {
    ReplicatedDB* db = nullptr;
    const rocksdb::Status s =
        StoreAccess::Open(options, replication, name, families, &handles_,
                          Timers::kThreads, &db, predecessor);
    db_.reset(db);
    return s;
  }

  rocksdb::Status Close() {
    if (db_ == nullptr) return rocksdb::Status::OK();
    for (rocksdb::ColumnFamilyHandle* handle : std::exchange(handles_, {})) {
      db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
    const rocksdb::Status s = db_->Close();
    if (s.ok())
      manifest_ = StoreAccess::StoreOf(db_.get())->manifest_at_close();
    db_.reset();
    return s;
  }
  // Returns Store::manifest_at_close(); empty before Close.
  const std::string& manifest_at_close() const { return manifest_; }

  ReplicatedDB* db() const { return db_.get(); }

 private:
  std::unique_ptr<ReplicatedDB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  std::string manifest_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_CLONE_OPEN_REPLICA_H_
