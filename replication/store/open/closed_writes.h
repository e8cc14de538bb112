// Finds out whether there were foreign writes while the database was closed,
// and where.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_CLOSED_WRITES_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_CLOSED_WRITES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replication/store/format/meta_records.h"
#include "rocksdb/db.h"
#include "rocksync/options.h"

namespace rocksync {

struct ClosedWrites {
  bool any = false;                  // everything has to be compared
  bool changed = false;              // any, and data are known to have changed
  uint64_t last_known_sequence = 0;  // the last one of ours
  bool written = false;              // sequence numbers show it
};

// Looks for foreign writes since the last opening, by an index that this
// opening goes on with. Its arguments must outlive it.
class ClosedWritesSearch {
 public:
  // `families` are the application's, `records` those that the index knows.
  ClosedWritesSearch(rocksdb::DB* db, const ReplicatedDBOptions& replication,
                     const std::vector<rocksdb::ColumnFamilyHandle*>& families,
                     const std::vector<FamilyRecord>& records)
      : db_(db),
        replication_(replication),
        families_(families),
        records_(records) {}

  // Finds out whether there were foreign writes, and appends the key ranges of
  // ingested files to `*foreign`. `seal` is that of the last close, nullopt if
  // that was not a clean one. `our_manifest` was in use after the last opening,
  // `manifest` before this one.
  rocksdb::Status Find(const std::optional<SealRecord>& seal,
                       const std::string& our_manifest,
                       const std::string& manifest,
                       std::vector<ForeignRange>* foreign, ClosedWrites* found);

  // Notes that foreign writes may have no sequence numbers any more.
  // Compactions, the other program's or ours during the re-check, may have
  // removed those of what it wrote, and what it deleted. So a pair without a
  // sequence number that disagrees with the index counts as a foreign write. An
  // acknowledged write is not reverted for want of a number; corruption in such
  // a pair cannot be told from it.
  void NoteUntold(std::vector<ForeignRange>* foreign) const;

 private:
  rocksdb::Status NoteFiles(const std::string& our_manifest,
                            std::vector<ForeignRange>* foreign) const;
  bool SealedFilesAreThere(const SealRecord& seal) const;
  uint64_t LargestIndexSequence() const;

  rocksdb::DB* const db_;
  const ReplicatedDBOptions& replication_;
  const std::vector<rocksdb::ColumnFamilyHandle*>& families_;
  const std::vector<FamilyRecord>& records_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_CLOSED_WRITES_H_
