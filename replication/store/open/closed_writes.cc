#include "replication/store/open/closed_writes.h"

#include <algorithm>
#include <utility>

#include "replication/store/format/current_manifest.h"
#include "replication/store/write/refusals.h"
#include "rocksdb/comparator.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

// Every write of the library ends with one to the index, and a clean close
// leaves a seal.
Status ClosedWritesSearch::Find(const std::optional<SealRecord>& seal,
                                const std::string& our_manifest,
                                const std::string& manifest,
                                std::vector<ForeignRange>* foreign,
                                ClosedWrites* found) {
  const uint64_t latest = db_->GetLatestSequenceNumber();
  if (seal) {
    // Files may come and go without a sequence number that shows it. A new
    // MANIFEST alone shows nothing: a refused or interrupted opening begins
    // one, too.
    found->last_known_sequence = seal->sequence;
    found->any = latest != seal->sequence;
    if (found->any || manifest != seal->manifest) {
      const Status status = NoteFiles(seal->manifest, foreign);
      if (!status.ok()) return status;
      found->any =
          found->any || !foreign->empty() || !SealedFilesAreThere(*seal);
    }
  } else if (our_manifest != manifest) {
    // The database was not closed cleanly, and somebody has opened it since (or
    // RocksDB rolled the MANIFEST over; then the check below finds nothing).
    found->last_known_sequence = LargestIndexSequence();
    found->any = latest != found->last_known_sequence;
    const Status status = NoteFiles(our_manifest, foreign);
    if (!status.ok()) return status;
    found->any = found->any || !foreign->empty();
  }
  found->written = found->any && latest != found->last_known_sequence;
  found->changed = found->written || (found->any && !foreign->empty());
  return Status::OK();
}

void ClosedWritesSearch::NoteUntold(std::vector<ForeignRange>* foreign) const {
  for (ColumnFamilyHandle* handle : families_) {
    const bool noted = std::any_of(
        foreign->begin(), foreign->end(), [handle](const ForeignRange& range) {
          return range.untold && range.family_id == handle->GetID();
        });
    if (noted || !IsReplicatedName(replication_, handle->GetName())) continue;
    ForeignRange range;
    range.family_id = handle->GetID();
    range.came = range.untold = true;
    foreign->push_back(std::move(range));
  }
}

bool ClosedWritesSearch::SealedFilesAreThere(const SealRecord& seal) const {
  std::vector<ColumnFamilyHandle*> families;
  for (ColumnFamilyHandle* handle : families_) {
    // The seal counts the files of these families alone.
    const bool sealed = std::any_of(
        records_.begin(), records_.end(),
        [&](const FamilyRecord& r) { return r.id == handle->GetID(); });
    if (sealed) families.push_back(handle);
  }
  uint64_t largest = 0;
  return FilesOf(db_, families, seal.last_file, &largest) == seal.files;
}

// Appends the key ranges of files that somebody ingested into replicated
// families since `our_manifest` was in use: their pairs may have no sequence
// number that shows it.
Status ClosedWritesSearch::NoteFiles(const std::string& our_manifest,
                                     std::vector<ForeignRange>* foreign) const {
  const uint64_t our_last = ManifestNumber(our_manifest);
  for (ColumnFamilyHandle* handle : families_) {
    if (!IsReplicatedName(replication_, handle->GetName())) continue;
    rocksdb::TablePropertiesCollection tables;
    const Status status = db_->GetPropertiesOfAllTables(handle, &tables);
    if (!status.ok()) return status;
    rocksdb::ColumnFamilyMetaData metadata;
    db_->GetColumnFamilyMetaData(handle, &metadata);
    for (const rocksdb::LevelMetaData& level : metadata.levels) {
      for (const rocksdb::SstFileMetaData& file : level.files) {
        const auto table = tables.find(file.db_path + file.name);
        if (file.file_number <= our_last || table == tables.end() ||
            table->second->user_collected_properties.count(
                "rocksdb.external_sst_file.version") == 0) {
          continue;
        }
        if (foreign->size() >= kMaxForeignRanges / 2 &&
            foreign->back().family_id == handle->GetID()) {
          // There are too many ranges: the last one grows to hold this file.
          const rocksdb::Comparator* const order = handle->GetComparator();
          ForeignRange* const last = &foreign->back();
          if (order->Compare(file.smallestkey, last->smallest) < 0) {
            last->smallest = file.smallestkey;
          }
          if (order->Compare(last->largest, file.largestkey) < 0) {
            last->largest = file.largestkey;
          }
          continue;
        }
        foreign->push_back({handle->GetID(), /*came=*/true, file.smallestkey,
                            file.largestkey});
      }
    }
  }
  return Status::OK();
}

uint64_t ClosedWritesSearch::LargestIndexSequence() const {
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  uint64_t largest = 0;
  for (const rocksdb::LiveFileMetaData& file : files) {
    if (file.column_family_name == kIndexFamilyName) {
      largest = std::max(largest, file.largest_seqno);
    }
  }
  return largest;
}

}  // namespace rocksync
