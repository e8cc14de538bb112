// How children and their parent open a replica.

#ifndef ROCKSYNC_TESTS_CRASH_REPLICA_H_
#define ROCKSYNC_TESTS_CRASH_REPLICA_H_

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/status.h"
#include "rocksync/replicated_db.h"

namespace rocksync::crash {

// An open replica with its two families, closed by kill or by the destructor.
class Replica {
 public:
  // `as_copy`: a copy of another replica may open. `env` null: the default.
  // `hook` may be null.
  static rocksdb::Status Open(const std::string& directory, bool as_copy,
                              rocksdb::Env* env,
                              std::unique_ptr<Replica>* replica,
                              std::shared_ptr<ApplyHook> hook = nullptr);
  ~Replica();

  ReplicatedDB* db() { return db_.get(); }
  // In the order of kFamilyNames.
  rocksdb::ColumnFamilyHandle* family(size_t i) { return families_[i]; }
  const std::vector<rocksdb::ColumnFamilyHandle*>& families() const {
    return families_;
  }

  // Gives the handles back and closes. Nothing may be called afterwards.
  rocksdb::Status Close();

 private:
  Replica() = default;
  std::unique_ptr<ReplicatedDB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
};

// What every replica of the tests is configured with.
ReplicatedDBOptions ReplicationOptions();

// Small buffers, so that flushes and compactions run all the time.
rocksdb::DBOptions DatabaseOptions();
std::vector<rocksdb::ColumnFamilyDescriptor> Families();

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_REPLICA_H_
