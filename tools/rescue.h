// rocksync rescue DIR: exports what a replica at rest alone holds, for one that
// its cluster does not take back.

#ifndef ROCKSYNC_TOOLS_RESCUE_H_
#define ROCKSYNC_TOOLS_RESCUE_H_

#include <iosfwd>
#include <string>

#include "tools/credentials.h"

namespace rocksync {

struct RescueOptions {
  std::string directory;  // of the replica; never changed
  std::string against;    // directory or host:port of one that counts
  std::string output;     // made; must not be there
  Credentials credentials;
};

inline constexpr int kRescueNothing = 0;
inline constexpr int kRescueExported = 1;
inline constexpr int kRescueError = 2;

// Compares the two and exports what `against` lacks or holds at an earlier
// version, or at the same version with other content:
//   OUTPUT/pairs.jsonl   one JSON object for each pair and tombstone:
//     family, key       as `rocksync diff` shows them
//     key_hex           the key's bytes
//     kind              "pair" or "tombstone"
//     why               "missing_there", "newer_here" or "other_content"
//     time_ms, counter, replica   its version
//     value_bytes       of a pair
//     damaged           true if the value does not match its index entry or
//                       does not read; it is then in no SST file
//   OUTPUT/FAMILY.sst    the pairs of a family, an SST file that RocksDB's
//                        SstFileReader and `sst_dump` read and a plain database
//                        ingests. Names with other bytes than letters, digits,
//                        '_' and '-' are in hexadecimal after 0x.
// Memory: the keys that are exported. Exit codes 0: there is nothing, 1:
// something was exported, 2: error.
int RunRescue(const RescueOptions& options, std::ostream& out,
              std::ostream& err);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_RESCUE_H_
