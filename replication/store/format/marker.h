// The marker: a small file beside RocksDB's own. It says that there is an index
// in this database and in which state it was left, so that an index that is
// lost is not taken for one that never was, and a copy not for its original.
//
// The index holds a mark, 16 random bytes, new with every opening and every
// clean close; the marker lists the marks that the index may hold. A change of
// mark goes in this order, each step durable before the next:
//   1. the marker lists the old mark and the new one
//   2. the index holds the new one
//   3. the marker lists the new one alone
// so at any moment the index holds a mark that the marker lists. Where there
// was no index, or shall be none any more, an empty mark stands for it.
// RocksDB leaves the file alone; its checkpoints and backups leave it out.
//
// It also names files without which RocksDB would open the database all the
// same, as an older state of it or as one with a gap.

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

// A file that the next opening needs, how long it is at least, and XXH3-64 of
// those bytes; 0: it is not known, and not compared.
struct FileLeft {
  std::string name;
  uint64_t least_bytes = 0;
  uint64_t hash = 0;
};

struct Marker {
  std::string directory;  // absolute path of the last opening
  std::string wal_dir;    // the same of where its log is
  // One or two; empty: no index.
  std::vector<std::string> marks;
  // The MANIFEST; and of a clean close the files of the log that are needed
  // still. Whoever opens the database begins another MANIFEST, after which they
  // say nothing.
  std::vector<FileLeft> files;
  // No entry of the index is in these logs alone: the close wrote all of it to
  // tables.
  bool index_in_tables = false;
  // What is left after a loss, by a repair, or by an opening as a new replica
  // that did not come to its end: the files no longer show the loss.
  bool rest = false;

  bool Lists(std::string_view mark) const;
};

// 16 random bytes.
std::string NewMark();

std::string Encode(const Marker& marker);
// False if the bytes are damaged or of a format this code does not know.
[[nodiscard]] bool Decode(std::string_view bytes, Marker* marker);

// NotFound: `directory` has none. Corruption: it is damaged.
rocksdb::Status ReadMarker(rocksdb::Env* env, const std::string& directory,
                           Marker* marker);

// In place of the one before. Durable when it returns OK; after an error one of
// the two is there. REQUIRES: RocksDB's lock of the directory is held.
rocksdb::Status WriteMarker(rocksdb::Env* env, const std::string& directory,
                            const Marker& marker);

// OK if there was none. Durable when it returns.
rocksdb::Status RemoveMarker(rocksdb::Env* env, const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_MARKER_H_
