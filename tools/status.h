// rocksync status HOST:PORT: how a running replica is.

#ifndef ROCKSYNC_TOOLS_STATUS_H_
#define ROCKSYNC_TOOLS_STATUS_H_

#include <iosfwd>
#include <string>

#include "rocksdb/status.h"
#include "tools/credentials.h"

namespace rocksync {

struct StatusToolOptions {
  std::string replica;  // host:port
  Credentials credentials;
  bool json = false;  // as the replica says it, one JSON object
};

// A table of the fields, then one of the peers; or `text` itself. `text` is
// what a replica answered, and may be anything; in the tables it is printable.
// Corruption: no JSON object, one that is nested deeply, or one without a
// replica id.
rocksdb::Status PrintStatus(const std::string& text, bool as_json,
                            std::ostream& out);

// Asks a replica, and prints that. Returns 0, or 2 with the reason
// on `err`.
int RunStatus(const StatusToolOptions& options, std::ostream& out,
              std::ostream& err);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_STATUS_H_
