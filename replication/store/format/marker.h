// The marker: a small file beside RocksDB's own. It says that this database has
// an index and in which state it was left. So an index that is lost is not
// taken for one that never was, nor a copy for its original.
//
// The index holds a mark: 16 random bytes, new with every opening and every
// clean close. The marker lists the marks that the index may hold. A mark
// changes in these steps, each durable before the next:
//   1. the marker lists the old mark and the new one
//   2. the index holds the new one
//   3. the marker lists the new one alone
// So at any moment the index holds a mark that the marker lists. An empty mark
// means that there is no index, before its creation or after its removal.
// RocksDB leaves the file alone; its checkpoints and backups leave it out.
//
// The marker also names files without which RocksDB would still open the
// database, but as an older state or with a gap.

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_MARKER_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_MARKER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

inline constexpr char kMarkerFileName[] = "ROCKSYNC";
inline constexpr size_t kMarkBytes = 16;

// A file that the next opening needs, its minimum length, and XXH3-64 of that
// many bytes (0: not known, and not compared).
struct FileLeft {
  std::string name;
  uint64_t least_bytes = 0;
  uint64_t hash = 0;
};

struct Marker {
  std::string directory;  // absolute path at the last opening
  std::string wal_dir;    // the same of its log's directory
  // One or two marks; an empty one: no index.
  std::vector<std::string> marks;
  // The MANIFEST, and after a clean close the log files that are still needed.
  // They say nothing once the database was opened for writing, which begins
  // another MANIFEST.
  std::vector<FileLeft> files;
  // No index entry is in these logs alone: the close wrote all of them to
  // tables.
  bool index_in_tables = false;
  // The database is what a loss left, after a repair or after an interrupted
  // opening as a new replica. The files no longer show the loss.
  bool rest = false;

  bool Lists(std::string_view mark) const;
};

// Returns a new mark of 16 random bytes.
std::string NewMark();

std::string Encode(const Marker& marker);
// Returns false if the bytes are damaged or of a format that this code does not
// know.
[[nodiscard]] bool Decode(std::string_view bytes, Marker* marker);

// Reads the marker of `directory`. Returns NotFound if there is none, and
// Corruption if it is damaged.
rocksdb::Status ReadMarker(rocksdb::Env* env, const std::string& directory,
                           Marker* marker);

// Replaces the marker. Durable when it returns OK; after an error the old or
// the new one is there. REQUIRES: RocksDB's lock of the directory is held.
rocksdb::Status WriteMarker(rocksdb::Env* env, const std::string& directory,
                            const Marker& marker);

// Removes the marker. Returns OK if there was none. Durable when it returns.
rocksdb::Status RemoveMarker(rocksdb::Env* env, const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_MARKER_H_
