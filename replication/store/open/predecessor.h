// Hands a replica over to a directory that takes the place of its own
// (ReplicatedDB::Resync). It knows of its peers and members what it knew, and
// issues versions above all that it issued.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_PREDECESSOR_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_PREDECESSOR_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "replication/membership/tombstone_gc.h"
#include "replication/store/format/meta_records.h"
#include "rocksdb/db.h"
#include "rocksync/options.h"

namespace rocksync {

struct Opened;

struct Predecessor {
  std::string directory;  // absolute path
  IdentityRecord identity;
  IncarnationHistory past;
  PlaceRecord place;
  GcState gc;
  uint64_t lease = 0;
  // The source, as it was met after the copy was made. The copy may hold
  // versions that the source issued up to this reading of its clock.
  Incarnation source;
  // Records of peers, by their keys in the index.
  std::vector<std::pair<std::string, std::string>> peers;
};

// Reads the state of the replica in `directory`, which is open as `db`. `gc` is
// as it is now, which may be more than what is on disk. REQUIRES: nothing is
// written to it any more.
rocksdb::Status ReadPredecessor(rocksdb::DB* db,
                                rocksdb::ColumnFamilyHandle* index,
                                const ReplicatedDBOptions& replication,
                                const std::string& directory, GcState gc,
                                Predecessor* predecessor);

// Makes `*opened`, a copy of a running replica (the source), the predecessor's
// replica, in the incarnation that has ended. The predecessor has also met the
// source before the copy was made, and come to the same terms. Returns TryAgain
// if the source has restarted or has another member list since, or if its clock
// is further ahead of `wall_ms` than `max_ahead_ms`; InvalidArgument if nothing
// may be taken from it as a whole.
rocksdb::Status Inherit(const Predecessor& predecessor, uint64_t wall_ms,
                        uint64_t max_ahead_ms, Opened* opened);

// Replaces the source's records of peers by the predecessor's.
rocksdb::Status InheritPeers(const Predecessor& predecessor, rocksdb::DB* db,
                             rocksdb::ColumnFamilyHandle* index);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_PREDECESSOR_H_
