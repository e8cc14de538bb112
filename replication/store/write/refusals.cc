#include "replication/store/write/refusals.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "rocksdb/comparator.h"
#include "rocksdb/convenience.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"
#include "rocksync/limits.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::Status;

Status Refuse(const std::string& what, const std::string& remedy) {
  std::string text = "rocksync: ";
  text += what;
  return Status::InvalidArgument(text, remedy);
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Concatenates by `+=`: GCC 12 warns about sums of short strings.
std::string Text(std::string_view what, std::string_view rest) {
  std::string text(what);
  text += rest;
  return text;
}

std::string Text(std::string_view what, std::string_view middle,
                 size_t number) {
  std::string text(what);
  text += middle;
  text += std::to_string(number);
  return text;
}

Status CheckName(std::string_view what, const std::string& name) {
  if (name.size() <= kMaxNameBytes) return Status::OK();
  return Refuse(Text(what, " has too many bytes: ", name.size()),
                Text("at most", " ", kMaxNameBytes));
}

Status CheckLimit(std::string_view option, size_t limit, size_t most) {
  if (limit > 0 && limit <= most) return Status::OK();
  return Refuse(Text(option, " is ", limit),
                Text("it has to be above 0", " and at most ", most));
}

// Refuses an empty name, mostly that of an unset variable; no family has it.
Status CheckNoneIsEmpty(std::string_view option,
                        const std::vector<std::string>& names) {
  if (!Contains(names, std::string())) return Status::OK();
  return Refuse(Text(option, " holds an empty name"),
                "name a column family, or leave it out");
}

Status CheckReplicationOptions(const ReplicatedDBOptions& options) {
  if (options.cluster_name.empty()) {
    return Refuse("cluster_name is empty", "name the cluster");
  }
  if (options.cluster_secret == std::array<uint8_t, 32>{}) {
    return Refuse("cluster_secret is all zero",
                  "give the cluster's 32 secret bytes");
  }
  Status status = CheckName("cluster_name", options.cluster_name);
  if (status.ok()) {
    status = CheckLimit("max_key_bytes", options.max_key_bytes, kMaxKeyBytes);
  }
  if (status.ok()) {
    status =
        CheckLimit("max_value_bytes", options.max_value_bytes, kMaxValueBytes);
  }
  if (!status.ok()) return status;
  if (options.apply_write_options.disableWAL) {
    return Refuse("apply_write_options.disableWAL",
                  "a crash would lose pairs that peers were told of; leave the "
                  "WAL on");
  }
  const size_t protection =
      options.apply_write_options.protection_bytes_per_key;
  if (protection != 0 && protection != 8) {
    return Refuse(Text("apply_write_options.protection_bytes_per_key", " is ",
                       protection),
                  "RocksDB knows 0 and 8");
  }
  if (options.max_delete_range_keys == 0) {
    return Refuse("max_delete_range_keys is 0", "allow at least one key");
  }
  if (options.index_write_buffer_bytes < (size_t{64} << 10)) {
    return Refuse("index_write_buffer_bytes is below 64 KiB", "enlarge it");
  }
  status = CheckNoneIsEmpty("ReplicatedDBOptions::families", options.families);
  if (status.ok()) {
    status = CheckNoneIsEmpty("ReplicatedDBOptions::merge_families",
                              options.merge_families);
  }
  if (status.ok()) {
    status = CheckNoneIsEmpty("ReplicatedDBOptions::discard_history_of",
                              options.discard_history_of);
  }
  if (!status.ok()) return status;
  if (Contains(options.families, kIndexFamilyName)) {
    return Refuse(Text("families names ", kIndexFamilyName),
                  "the index is not replicated itself; leave it out");
  }
  return Status::OK();
}

Status CheckDBOptions(const rocksdb::DBOptions& options) {
  if (options.allow_2pc) {
    return Refuse("DBOptions::allow_2pc (TransactionDB)",
                  "transactions bypass the index; use WriteBatch, and "
                  "ReplicatedDB::Update to read keys and write them");
  }
  if (options.persist_stats_to_disk) {
    return Refuse("DBOptions::persist_stats_to_disk",
                  "RocksDB would write statistics into the database, bypassing "
                  "the index, and each time trigger a full re-check; turn it "
                  "off, then statistics stay in memory "
                  "(stats_history_buffer_size)");
  }
  if (options.unordered_write) {
    return Refuse("DBOptions::unordered_write",
                  "a snapshot must see whole batches; turn it off");
  }
  if (!options.paranoid_checks) {
    return Refuse(
        "DBOptions::paranoid_checks is off",
        "after a failed write to its log RocksDB would carry on, and a "
        "crash would lose the writes that follow; turn it on");
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

Status CheckNamedOnce(
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
  std::set<std::string_view> names;
  for (const rocksdb::ColumnFamilyDescriptor& family : families) {
    if (names.insert(family.name).second) continue;
    return Refuse(Text("two column families named ", family.name),
                  "each is opened once; name it once");
  }
  return Status::OK();
}

// Checks the comparator of one family; `in` names it, after what is refused.
Status CheckComparator(const ReplicatedDBOptions& replication,
                       const std::string& in,
                       const rocksdb::ColumnFamilyOptions& options) {
  if (options.comparator == nullptr) return Status::OK();
  const Status named =
      CheckName("the comparator's name" + in, options.comparator->Name());
  if (!named.ok()) return named;
  if (options.comparator->timestamp_size() > 0) {
    return Refuse("user-defined timestamps" + in,
                  "versions arrive out of order; keep the family out of "
                  "ReplicatedDBOptions::families");
  }
  if (options.comparator->CanKeysWithDifferentByteContentsBeEqual() &&
      !replication.comparators_tell_all_bytes_apart) {
    return Refuse(
        std::string("comparator ") + options.comparator->Name() + in +
            " may call keys of different bytes equal",
        "two spellings of a key would be two entries of the index; override "
        "CanKeysWithDifferentByteContentsBeEqual() to return false, or set "
        "ReplicatedDBOptions::comparators_tell_all_bytes_apart, if it never "
        "does");
  }
  return Status::OK();
}

Status CheckTables(const std::string& in,
                   const rocksdb::ColumnFamilyOptions& options) {
  if (options.table_factory == nullptr) return Status::OK();
  for (const char* const table :
       {rocksdb::TableFactory::kPlainTableName(),
        rocksdb::TableFactory::kCuckooTableName(), "AdaptiveTableFactory"}) {
    if (options.table_factory->IsInstanceOf(table)) {
      return Refuse(
          Text("table_factory ", table) + in,
          "a scrub has to read a family's tables in order of the keys; use "
          "NewBlockBasedTableFactory (tables that are there have to be written "
          "anew: read the pairs by a plain program and Put them), or keep the "
          "family out of ReplicatedDBOptions::families");
    }
  }
  return Status::OK();
}

// Whether the option, which newer versions have, is on. RocksDB 11.9 by itself
// was seen to lose such blobs in its recovery after a kill, and it cannot read
// them in a database that it opens for reading only, as offline commands do.
template <typename Options>
bool WritesBlobsDirectly(const Options& options) {
  if constexpr (requires { options.enable_blob_direct_write; }) {
    return options.enable_blob_direct_write;
  }
  return false;
}

// Refuses what changes or drops pairs without a write.
Status CheckUpkeepOfPairs(const rocksdb::DBOptions& db_options,
                          const ReplicatedDBOptions& replication,
                          const std::string& in,
                          const rocksdb::ColumnFamilyOptions& options) {
  if (options.inplace_update_support) {
    return Refuse("inplace_update_support" + in,
                  "snapshots would not hold; turn it off");
  }
  if (WritesBlobsDirectly(options)) {
    return Refuse("enable_blob_direct_write" + in,
                  "after a kill RocksDB may not find such values any more; "
                  "turn it off (enable_blob_files may stay on)");
  }
  if (options.enable_blob_files && db_options.compaction_service != nullptr) {
    return Refuse("enable_blob_files with DBOptions::compaction_service" + in,
                  "RocksDB does not take over the blob files that a remote "
                  "compaction wrote, and the values in them are lost; use one "
                  "of the two");
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
  return Status::OK();
}

bool IsOfTable(const std::string& option) {
  const std::string_view whole =
      std::string_view(option).substr(0, option.find('.'));
  return whole == "table_factory" || whole == "block_based_table_factory" ||
         whole == "plain_table_factory";
}

// Returns false if the factory is of a kind that RocksDB does not know by name.
bool CopyTableFactory(std::shared_ptr<rocksdb::TableFactory>* factory) {
  if (*factory == nullptr) return false;
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = true;
  config.ignore_unsupported_options = true;
  config.invoke_prepare_options = false;
  std::string options;
  std::shared_ptr<rocksdb::TableFactory> copy;
  Status status = rocksdb::TableFactory::CreateFromString(
      config, (*factory)->Name(), &copy);
  if (status.ok()) status = (*factory)->GetOptionString(config, &options);
  if (status.ok()) status = copy->ConfigureFromString(config, options);
  if (status.ok()) *factory = std::move(copy);
  return status.ok();
}

}  // namespace

Status CheckFamilyName(const std::string& name) {
  if (!name.empty()) return Status::OK();
  return Refuse("a column family with an empty name", "name it");
}

bool IsReplicatedName(const ReplicatedDBOptions& options,
                      const std::string& family) {
  return options.families.empty() || Contains(options.families, family);
}

Status CheckFamilyOptions(const rocksdb::DBOptions& db_options,
                          const ReplicatedDBOptions& replication,
                          const std::string& family,
                          const rocksdb::ColumnFamilyOptions& options) {
  if (family == kIndexFamilyName) {
    return Refuse(Text("column family ", kIndexFamilyName),
                  "the index is opened by the library; leave it out");
  }
  if (!IsReplicatedName(replication, family)) return Status::OK();
  Status status = CheckName(
      "the name of replicated column family " + family.substr(0, 40), family);
  const std::string in = " in replicated column family " + family;
  if (status.ok()) status = CheckComparator(replication, in, options);
  if (status.ok()) status = CheckTables(in, options);
  if (status.ok())
    status = CheckUpkeepOfPairs(db_options, replication, in, options);
  if (status.ok() && options.merge_operator != nullptr &&
      !Contains(replication.merge_families, family)) {
    return Refuse("a merge operator" + in,
                  "of two concurrent Merges one is lost; name the family in "
                  "ReplicatedDBOptions::merge_families to accept that");
  }
  return status;
}

Status CheckOpenArguments(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
  Status status = CheckReplicationOptions(replication);
  if (status.ok()) status = CheckDBOptions(options);
  size_t replicated = 0;
  for (const rocksdb::ColumnFamilyDescriptor& family : families) {
    if (!status.ok()) return status;
    if (family.name == kIndexFamilyName) continue;  // the library's own
    status = CheckFamilyName(family.name);
    if (status.ok()) {
      status =
          CheckFamilyOptions(options, replication, family.name, family.options);
    }
    replicated += IsReplicatedName(replication, family.name) ? 1 : 0;
  }
  if (status.ok()) status = CheckNamedOnce(families);
  return status.ok() ? CheckFamilyCount(replicated) : status;
}

Status CheckChangedOptions(
    const ReplicatedDBOptions& replication, const std::string& family,
    const rocksdb::DBOptions& db_options, rocksdb::ColumnFamilyOptions current,
    std::unordered_map<std::string, std::string> changes) {
  // RocksDB parses nested options into the objects that it finds, and those
  // belong to the open family. So the table factory is copied, and the options
  // of other objects ("NAME.OPTION") are not checked.
  const bool copied = CopyTableFactory(&current.table_factory);
  for (auto change = changes.begin(); change != changes.end();) {
    const bool of_table = IsOfTable(change->first);
    const bool of_another =
        !of_table && change->first.find('.') != std::string::npos;
    change = of_another || (of_table && !copied) ? changes.erase(change)
                                                 : std::next(change);
  }
  rocksdb::ColumnFamilyOptions changed;
  const Status parsed =
      rocksdb::GetColumnFamilyOptionsFromMap({}, current, changes, &changed);
  if (!parsed.ok()) return Status::OK();
  const Status status =
      CheckFamilyOptions(db_options, replication, family, changed);
  return status.ok() && changed.table_factory != nullptr
             ? changed.table_factory->ValidateOptions(db_options, changed)
             : status;
}

Status CheckFamilyCount(size_t replicated) {
  if (replicated <= kMaxReplicatedFamilies) return Status::OK();
  return Refuse(Text("too many replicated column families", ": ", replicated),
                Text("name those to be replicated in "
                     "ReplicatedDBOptions::families",
                     ", at most ", kMaxReplicatedFamilies));
}

Status CheckWriteOptions(const rocksdb::WriteOptions& options) {
  if (!options.disableWAL) return Status::OK();
  return Status::NotSupported(
      "rocksync: WriteOptions::disableWAL on a replicated family",
      "a crash could keep data and lose its index; leave the WAL on, or keep "
      "the family out of ReplicatedDBOptions::families");
}

Status FamilyIsGone() {
  return Status::InvalidArgument(
      "rocksync: a column family was dropped while a write to it waited",
      "write to a family before it is dropped, or not at all");
}

Status CheckSizes(const ReplicatedDBOptions& options, const std::string& family,
                  const rocksdb::Slice& key, size_t value_bytes) {
  const bool large_key = key.size() > options.max_key_bytes;
  if (!large_key && value_bytes <= options.max_value_bytes) return Status::OK();
  std::string what = large_key ? "a key of " : "a value of ";
  what += std::to_string(large_key ? key.size() : value_bytes);
  what += " bytes in replicated column family ";
  what += family;
  const char* const option = large_key ? "max_key_bytes" : "max_value_bytes";
  const size_t limit =
      large_key ? options.max_key_bytes : options.max_value_bytes;
  const char* const remedy =
      limit == (large_key ? kMaxKeyBytes : kMaxValueBytes)
          ? ", the most that there can be; write less"
          : "; raise it on every replica, or write less";
  return Refuse(what, Text(option, " is ", limit) + remedy);
}

}  // namespace rocksync
