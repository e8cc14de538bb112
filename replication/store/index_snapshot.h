// What the protocol sees of the index at one moment.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_SNAPSHOT_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_SNAPSHOT_H_

#include <functional>
#include <memory>
#include <string_view>

#include "replication/protocol/storage_view.h"
#include "replication/store/family_table.h"
#include "replication/store/index_reader.h"
#include "replication/store/leaf_digests.h"
#include "sketch/version.h"

namespace rocksync {

// Told of a pair whose value does not match its entry.
using RotFound = std::function<void(const Family& family, std::string_view key,
                                    const Version& version)>;

// `reader` and `families` must outlive it. `snapshot` null: now, for a database
// that nobody writes to. `rot` may be null.
std::unique_ptr<StorageSnapshot> NewIndexSnapshot(
    const IndexReader& reader, const FamilyTable& families,
    std::shared_ptr<const HeldSnapshot> snapshot,
    std::shared_ptr<const LeafDigests::Leaves> leaves, RotFound rot);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_SNAPSHOT_H_
