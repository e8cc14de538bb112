// Decides which families an opening replicates, and what of each the index
// build still has to read.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_FAMILY_PLANNER_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_FAMILY_PLANNER_H_

#include <cstdint>
#include <set>
#include <vector>

#include "replication/store/format/meta_records.h"
#include "replication/store/open/closed_writes.h"
#include "replication/store/open/opened.h"
#include "rocksdb/db.h"
#include "rocksync/options.h"

namespace rocksync {

// Sets `*has` to whether the family holds a pair, even one that does not read.
rocksdb::Status HasPairs(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* handle,
                         bool* has);

// Plans families and work of an opening. It only decides, and writes nothing.
// Its arguments must outlive it.
class FamilyPlanner {
 public:
  // `lost` are families of which the index knows nothing any more, `foreign`
  // tells what was written while the database was closed, and `log_lost` that a
  // part of the log is lost.
  FamilyPlanner(rocksdb::DB* db, const ReplicatedDBOptions& replication,
                const std::set<uint32_t>& lost, const ClosedWrites& foreign,
                bool log_lost, Opened* opened)
      : db_(db),
        replication_(replication),
        lost_(lost),
        foreign_(foreign),
        log_lost_(log_lost),
        opened_(opened) {}

  // Puts the families, their records and the work into `*opened`, in place of
  // the records that the index had. `handles` are those of `families`.
  rocksdb::Status Plan(
      const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
      const std::vector<rocksdb::ColumnFamilyHandle*>& handles);

 private:
  rocksdb::Status PlanFamily(const rocksdb::ColumnFamilyDescriptor& descriptor,
                             rocksdb::ColumnFamilyHandle* handle,
                             const std::vector<FamilyRecord>& before);
  void WarnOfNamesWithoutFamily(
      const std::vector<rocksdb::ColumnFamilyDescriptor>& families) const;
  void PlanWork(const std::vector<FamilyRecord>& before);

  rocksdb::DB* const db_;
  const ReplicatedDBOptions& replication_;
  const std::set<uint32_t>& lost_;
  const ClosedWrites& foreign_;
  const bool log_lost_;
  Opened* const opened_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_FAMILY_PLANNER_H_
