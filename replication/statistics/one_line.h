// Makes text of peers and clients fit for a log or a statistic.

#ifndef ROCKSYNC_REPLICATION_STATISTICS_ONE_LINE_H_
#define ROCKSYNC_REPLICATION_STATISTICS_ONE_LINE_H_

#include <string>

namespace rocksync {

// Returns `text`, in which a peer or a client may have a say, on one line:
// control characters become \xNN. So no text looks like two entries of a log.
std::string OneLine(const std::string& text);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STATISTICS_ONE_LINE_H_
