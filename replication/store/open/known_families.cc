#include "replication/store/open/known_families.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/write/refusals.h"
#include "replication/text/escape_text.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

bool MayDiscard(const ReplicatedDBOptions& replication,
                const std::string& family) {
  const std::vector<std::string>& names = replication.discard_history_of;
  return std::find(names.begin(), names.end(), family) != names.end();
}

struct Sample {
  int pairs = 0;
  int missing = 0;  // entries of these pairs
};

// Looks up entries of the first pairs. An unreadable pair tells nothing.
Sample SampleEntries(const IndexReader& reader, ColumnFamilyHandle* handle,
                     const FamilyRecord& record) {
  constexpr int kPairs = 8;
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> iterator(
      reader.db()->NewIterator(options, handle));
  Sample sample;
  for (iterator->SeekToFirst(); iterator->Valid() && sample.pairs < kPairs;
       iterator->Next()) {
    const std::string_view key = iterator->key().ToStringView();
    StoredEntry entry;
    const Status status = reader.Get(
        {reader.hasher().Position(record.name, key), record.id, key}, &entry);
    ++sample.pairs;
    if (status.IsNotFound()) ++sample.missing;
  }
  return sample;
}

// Looks for an entry of the family. Reads the index until it finds one.
Status HoldsEntriesOf(const IndexReader& reader, uint32_t family_id,
                      bool* holds) {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> iterator(
      reader.db()->NewIterator(options, reader.index()));
  *holds = false;
  for (iterator->SeekToFirst(); iterator->Valid() && !*holds;
       iterator->Next()) {
    IndexKey key;
    *holds = ParseIndexKey(iterator->key().ToStringView(), &key) &&
             key.family_id == family_id;
  }
  return iterator->status();
}

}  // namespace

Status CheckKnownFamilies(const ReplicatedDBOptions& replication,
                          const std::string& name,
                          const std::vector<FamilyRecord>& known,
                          const std::vector<ColumnFamilyDescriptor>& families,
                          const std::vector<ColumnFamilyHandle*>& handles) {
  for (const FamilyRecord& record : known) {
    std::string why = "is not there any more: it was dropped";
    bool there = false;
    bool stays = false;
    for (size_t i = 0; i < families.size(); ++i) {
      if (handles[i]->GetID() == record.id) {
        there = true;
        stays = IsReplicatedName(replication, record.name);
        why = "is not named in ReplicatedDBOptions::families any more";
      } else if (families[i].name == record.name) {
        why = "was dropped and made anew";
      }
    }
    if (stays || (record.may_be_absent && !there)) continue;
    if (MayDiscard(replication, record.name)) continue;
    return Status::InvalidArgument(
        "rocksync: the replicated column family '" + EscapeText(record.name) +
            "' of " + name + " " + why + (there ? "" : " without rocksync"),
        "which of its pairs are newer than those of peers, and what was "
        "deleted, would be lost; if that is meant, name it in "
        "ReplicatedDBOptions::discard_history_of for one opening; else " +
            std::string(there ? "name it in families again"
                              : "put the directory back from a copy"));
  }
  return Status::OK();
}

Status LookForMissingEntries(const ReplicatedDBOptions& replication,
                             const std::string& name, const IndexReader& reader,
                             const std::vector<FamilyRecord>& known,
                             const std::vector<ColumnFamilyHandle*>& handles,
                             MissingEntries* missing) {
  for (const FamilyRecord& record : known) {
    const auto handle = std::find_if(handles.begin(), handles.end(),
                                     [&](ColumnFamilyHandle* candidate) {
                                       return candidate->GetID() == record.id;
                                     });
    if (record.work != 0 || handle == handles.end()) continue;
    const Sample sample = SampleEntries(reader, *handle, record);
    if (sample.missing == 0) continue;
    missing->any = true;
    // If some entries are there, only a part is missing, as after corruption.
    bool holds = sample.missing < sample.pairs;
    const Status status =
        holds ? Status::OK() : HoldsEntriesOf(reader, record.id, &holds);
    if (!status.ok()) return status;
    if (holds) continue;
    if (!MayDiscard(replication, record.name) &&
        !replication.adopt_after_index_loss) {
      return Status::Corruption(
          "rocksync: the index of " + name + " has no entry of the family '" +
              EscapeText(record.name) +
              "', which holds pairs: they bypassed rocksync (another program, "
              "GetBaseDB(), a TransactionDB around it) shortly before a crash, "
              "or the index has lost what it knew of the family",
          "open it once with the family in "
          "ReplicatedDBOptions::discard_history_of, or with "
          "adopt_after_index_loss (rocksync-store: --adopt-after-index-loss): "
          "either keeps all pairs, and adopts those of the family, which then "
          "lose to any that a peer has; only if peers have all that it holds, "
          "replace it by a new, empty replica that peers fill");
    }
    missing->lost_families.insert(record.id);
  }
  return Status::OK();
}

}  // namespace rocksync
