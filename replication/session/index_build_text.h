// What a replica that builds its index says to its peers.

#ifndef ROCKSYNC_REPLICATION_SESSION_INDEX_BUILD_TEXT_H_
#define ROCKSYNC_REPLICATION_SESSION_INDEX_BUILD_TEXT_H_

#include <string_view>

namespace rocksync {

// In the text with which it refuses a session, and so in the error of either
// side. It passes by itself, unlike what else a replica refuses sessions for.
inline constexpr std::string_view kIndexBuildInProgress =
    "index build in progress";

// Of an error of a peer: one of the two reads its database into the index.
inline bool IsOfIndexBuild(std::string_view error) {
  return error.find(kIndexBuildInProgress) != std::string_view::npos;
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_INDEX_BUILD_TEXT_H_
