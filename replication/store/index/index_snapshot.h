// What the protocol sees of the index at one moment.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_INDEX_SNAPSHOT_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_INDEX_SNAPSHOT_H_

#include <functional>
#include <memory>
#include <string>

#include "replication/session/storage_view.h"
#include "replication/store/index/family_table.h"
#include "replication/store/index/index_reader.h"
#include "replication/store/index/leaf_digests.h"

namespace rocksync {

// Told of the index key of an entry that is not what its pair or its place
// says.
using CorruptionFound = std::function<void(const std::string& index_key)>;
// Told that the digests are not those of the entries.
using DigestsWrong = std::function<void()>;

// `reader` and `families` must outlive it. `readied.snapshot` null: now, for a
// database that nobody writes to. `corruption` and `wrong` may be null.
std::unique_ptr<StorageSnapshot> NewIndexSnapshot(const IndexReader& reader,
                                                  const FamilyTable& families,
                                                  LeafDigests::Readied readied,
                                                  CorruptionFound corruption,
                                                  DigestsWrong wrong);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_INDEX_SNAPSHOT_H_
