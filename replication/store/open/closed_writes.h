// Foreign writes while the database was closed: by what an opening knows that
// there were any, and where.

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
  bool changed = false;              // and something shows that data changed
  uint64_t last_known_sequence = 0;  // ours
  bool written = false;              // by sequence numbers
};

// Of an index to go on with. What it refers to must outlive it.
class ClosedWritesSearch {
 public:
  // `families`: the application's; `records`: those that the index knows.
  ClosedWritesSearch(rocksdb::DB* db, const ReplicatedDBOptions& replication,
                     const std::vector<rocksdb::ColumnFamilyHandle*>& families,
                     const std::vector<FamilyRecord>& records)
      : db_(db),
        replication_(replication),
        families_(families),
        records_(records) {}

  // `seal`: of the last close, none if that was not a clean one. `our_manifest`
  // was in use after the last opening, `manifest` before this one. Adds ranges
  // of keys to `*foreign`.
  rocksdb::Status Find(const std::optional<SealRecord>& seal,
                       const std::string& our_manifest,
                       const std::string& manifest,
                       std::vector<ForeignRange>* foreign, ClosedWrites* found);

  // Somebody wrote. Compactions, theirs or ours while all is compared, may have
  // taken away the sequence numbers of what they wrote, and what they deleted:
  // so what has none any more, and is not what the index says, counts as
  // theirs. An acknowledged write is not reverted for want of a number;
  // corruption in a pair without one cannot be told from it.
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
