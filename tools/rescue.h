// rocksync rescue DIR: exports what an offline replica alone holds, for one
// that its cluster does not take back.

#ifndef ROCKSYNC_TOOLS_RESCUE_H_
#define ROCKSYNC_TOOLS_RESCUE_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "tools/credentials.h"

namespace rocksync {

struct RescueOptions {
  std::string directory;  // of the replica; never changed
  std::string against;    // directory or host:port of one that counts
  std::string output;     // made; must not be there
  Credentials credentials;
  // "DIR=LOGDIR" each: where the log of a directory is, if its own files do not
  // say (offline_db.h).
  std::vector<std::string> wal_dirs = {};
};

inline constexpr int kRescueNothing = 0;
inline constexpr int kRescueExported = 1;
inline constexpr int kRescueError = 2;

// Compares the two and exports what `against` lacks or holds at an earlier
// version, or at the same version with other content:
//   OUTPUT/pairs.jsonl   one JSON object for each pair and tombstone:
//     family, key       as `rocksync diff` and `verify` show them
//     key_hex           the key's bytes
//     kind              "pair" or "tombstone"
//     difference        as `verify` says it: "missing_there"; "version", the
//                       later one is here; "content"; of a quarantined pair
//                       also "deleted_there"
//     time_ms, counter, replica   its version; of a quarantined pair what its
//                       index entry says, all 0 if that says nothing
//     value_bytes       of a pair
//     damaged           true if the value does not match its index entry or
//                       does not read
//     quarantined       true if no index entry confirms the value, so that its
//                       version is unknown: it has no index entry, or one that
//                       is quarantined, of a delete, or of another value. If it
//                       reads, it is in the second kind of SST file.
//   OUTPUT/FAMILY.sst    the pairs of a family, an SST file that RocksDB's
//                        SstFileReader and `sst_dump` read and a plain database
//                        ingests. Names with other bytes than letters, digits,
//                        '_' and '-' are in hexadecimal after 0x.
//   OUTPUT/FAMILY.quarantined.sst
//                        the quarantined pairs that read
// A quarantined pair is left out only if `against` holds the very value. Reads
// all data of the replica. Memory: the keys that are exported or quarantined.
// Exit codes 0: there is nothing, 1: something was exported, 2: error, also if
// not all data could be read, be something exported or not.
int RunRescue(const RescueOptions& options, std::ostream& out,
              std::ostream& err);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_RESCUE_H_
