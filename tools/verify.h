// rocksync verify LEFT RIGHT: are two replicas equal, running or offline?

#ifndef ROCKSYNC_TOOLS_VERIFY_H_
#define ROCKSYNC_TOOLS_VERIFY_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/credentials.h"

namespace rocksync {

struct VerifyToolOptions {
  std::string left;   // host:port of a running replica, or a directory
  std::string right;  // host:port of a running replica, as `left` reaches it;
                      // or a directory too, if `left` is one
  Credentials credentials;
  uint64_t max_keys = 100;
  uint64_t wait_ms = 15'000;  // see VerifyOptions
  bool json = false;          // one JSON object a line
  // "DIR=LOGDIR" each: where the log of a directory is, if its own files do not
  // say (offline_db.h).
  std::vector<std::string> wal_dirs = {};
};

// Exit codes, as diff(1) has them.
inline constexpr int kVerifyEqual = 0;
inline constexpr int kVerifyDifferent = 1;
inline constexpr int kVerifyError = 2;

// Two running replicas compare themselves; an offline database is compared from
// here. Nothing is shipped, and nothing is written to either. Lists on `out`:
//   < FAMILY KEY    only on the left (a pair, or the tombstone of one)
//   > FAMILY KEY    only on the right
//   ! FAMILY KEY    on both, at different versions
//   ~ FAMILY KEY    on both, at one version with different content
// and last whether they are equal.
int RunVerify(const VerifyToolOptions& options, std::ostream& out,
              std::ostream& err);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_VERIFY_H_
