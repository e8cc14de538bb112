#include "tools/uncertain_pairs.h"

#include <memory>

#include "replication/metrics/json.h"
#include "replication/store/format/index_key.h"
#include "replication/store/index/plain_value.h"
#include "replication/store/open/unreplayable_records.h"

namespace rocksync {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

bool Acknowledges(const IndexReader& reader, const Family& family,
                  const std::string& key, const StoredEntry& entry,
                  const Slice& value) {
  if (entry.quarantined || entry.tombstone) return false;
  const ElementHasher& hasher = reader.hasher();
  return hasher.HashPair(
             family.name, key, entry.version,
             hasher.HashValue(entry.version, value.ToStringView())) ==
         CompleteHash(hasher, family.name, key, entry);
}

Status UncertainPairsOf(const IndexReader& reader, const Family& family,
                        UncertainPairs* found) {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> pair(
      reader.db()->NewIterator(options, family.handle()));
  for (pair->SeekToFirst(); pair->Valid(); pair->Next()) {
    std::string key = pair->key().ToString();
    StoredEntry entry;
    const Status status = reader.Get(
        {reader.hasher().Position(family.name, key), family.id, key}, &entry);
    if (!status.ok() && !status.IsNotFound()) return status;
    if (status.IsNotFound()) entry = UnknownEntry();
    const bool entity = !IsPlain(*pair);
    if (entity && ++found->entities == 1) {
      found->entity = EntityError(family, key);
    }
    if (entity || !Acknowledges(reader, family, key, entry, pair->value())) {
      found->pairs[{family.ordinal, std::move(key)}] = entry;
    }
  }
  const Status merges = NameMergeOperator(pair->status(), reader.db()->GetEnv(),
                                          reader.db()->GetName(), family.name);
  if (merges.IsInvalidArgument()) return merges;
  // What is damaged stops nobody from saving the rest.
  if (!pair->status().ok()) {
    found->unread.push_back("family " + Readable(family.name) + ": " +
                            pair->status().ToString());
  }
  return Status::OK();
}

}  // namespace

Status FindUncertainPairs(const OfflineReplica& replica,
                          UncertainPairs* found) {
  const IndexReader& reader = replica.reader();
  for (const Family& family : replica.families()) {
    const Status status = UncertainPairsOf(reader, family, found);
    if (!status.ok()) return status;
  }
  IndexCursor cursor(reader, nullptr, reader.stable_time(),
                     IndexCursor::Order::kTotal);
  for (cursor.SeekToFirstEntry(); cursor.Valid(); cursor.Next()) {
    if (cursor.family() == nullptr || !cursor.entry().quarantined) continue;
    found->pairs.try_emplace(
        {cursor.family()->ordinal, std::string(cursor.key().key)},
        cursor.entry());
  }
  return cursor.status();
}

}  // namespace rocksync
