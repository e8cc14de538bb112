#include "replication/store/refusals.h"

#include <algorithm>
#include <string>

#include "rocksdb/comparator.h"
#include "rocksdb/filter_policy.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::Status;

Status Refuse(const std::string& what, const std::string& remedy) {
  return Status::InvalidArgument("rocksync: " + what, remedy);
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool IsReplicatedName(const ReplicatedDBOptions& options,
                      const std::string& family) {
  return options.families.empty() || Contains(options.families, family);
}

Status CheckReplicationOptions(const ReplicatedDBOptions& options) {
  if (options.cluster_secret == std::array<uint8_t, 32>{}) {
    return Refuse("cluster_secret is all zero",
                  "give the cluster's 32 secret bytes");
  }
  if (options.cluster_name.empty()) {
    return Refuse("cluster_name is empty", "name the cluster");
  }
  if (options.apply_write_options.disableWAL) {
    return Refuse("apply_write_options.disableWAL",
                  "a crash would lose pairs that peers were told of; leave the "
                  "WAL on");
  }
  if (options.max_delete_range_keys == 0) {
    return Refuse("max_delete_range_keys is 0", "allow at least one key");
  }
  if (options.index_write_buffer_bytes < (size_t{64} << 10)) {
    return Refuse("index_write_buffer_bytes is below 64 KiB", "enlarge it");
  }
  if (Contains(options.families, kIndexFamilyName)) {
    return Refuse(std::string("families names ") + kIndexFamilyName,
                  "the index is not replicated itself; leave it out");
  }
  return Status::OK();
}

Status CheckDBOptions(const rocksdb::DBOptions& options) {
  if (options.allow_2pc) {
    return Refuse("DBOptions::allow_2pc (TransactionDB)",
                  "transactions write past the index; use WriteBatch");
  }
  if (options.unordered_write) {
    return Refuse("DBOptions::unordered_write",
                  "a snapshot must see whole batches; turn it off");
  }
  if (options.best_efforts_recovery) {
    return Refuse("DBOptions::best_efforts_recovery",
                  "it may lose acknowledged writes; turn it off and, if files "
                  "are lost, open a new replica");
  }
  if (options.wal_recovery_mode ==
      rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords) {
    return Refuse("WALRecoveryMode::kSkipAnyCorruptedRecords",
                  "it would keep data without index; use "
                  "kPointInTimeRecovery");
  }
  if (options.wal_filter != nullptr) {
    return Refuse("DBOptions::wal_filter",
                  "it could change or drop what the index knows; remove it");
  }
  return Status::OK();
}

Status CheckFamilyOptions(const ReplicatedDBOptions& replication,
                          const std::string& family,
                          const rocksdb::ColumnFamilyOptions& options) {
  if (family == kIndexFamilyName) {
    return Refuse(std::string("column family ") + kIndexFamilyName,
                  "the index is opened by the library; leave it out");
  }
  if (!IsReplicatedName(replication, family)) return Status::OK();
  const std::string in = " in replicated column family " + family;
  if (options.comparator != nullptr &&
      options.comparator->timestamp_size() > 0) {
    return Refuse("user-defined timestamps" + in,
                  "versions arrive out of order; keep the family out of "
                  "ReplicatedDBOptions::families");
  }
  if (options.inplace_update_support) {
    return Refuse("inplace_update_support" + in,
                  "snapshots would not hold; turn it off");
  }
  if (options.compaction_style == rocksdb::kCompactionStyleFIFO) {
    return Refuse("FIFO compaction" + in,
                  "it drops data that peers would bring back; use level or "
                  "universal compaction");
  }
  if ((options.compaction_filter != nullptr ||
       options.compaction_filter_factory != nullptr) &&
      !replication.compaction_filters_drop_nothing) {
    return Refuse("a compaction filter" + in,
                  "set ReplicatedDBOptions::compaction_filters_drop_nothing if "
                  "it neither drops nor changes pairs, else remove it");
  }
  if (options.merge_operator != nullptr &&
      !Contains(replication.merge_families, family)) {
    return Refuse("a merge operator" + in,
                  "of two concurrent Merges one is lost; name the family in "
                  "ReplicatedDBOptions::merge_families to accept that");
  }
  return Status::OK();
}

}  // namespace rocksync
