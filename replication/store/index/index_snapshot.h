// The index at one moment, as the protocol sees it.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_INDEX_SNAPSHOT_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_INDEX_SNAPSHOT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "replication/session/storage_view.h"
#include "replication/store/index/family_table.h"
#include "replication/store/index/index_reader.h"
#include "replication/store/index/leaf_digests.h"

namespace rocksync {

// Returns an error if what the snapshot reads is no longer replicated.
using StillHolds = std::function<absl::Status()>;
// Receives the index key of an entry that does not match its pair or its place.
using CorruptionFound = std::function<void(const std::string& index_key)>;
// Reports that the digests are not those of the entries.
using DigestsWrong = std::function<void()>;

// Makes a snapshot. `reader` must outlive it. `readied.snapshot` null: as of
// now, for a database that nobody writes to. The callbacks may be null.
// `still_holds` is called before each leaf, value or look-up, and before each
// slice of elements.
std::unique_ptr<StorageSnapshot> NewIndexSnapshot(
    const IndexReader& reader, std::shared_ptr<const FamilyTable> families,
    LeafDigests::DigestSnapshot readied, StillHolds still_holds,
    CorruptionFound corruption, DigestsWrong wrong, ReadsDone read);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_INDEX_SNAPSHOT_H_
