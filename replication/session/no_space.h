// How an error of storage says that its disk is full, and what a peer is told.

#ifndef ROCKSYNC_REPLICATION_SESSION_NO_SPACE_H_
#define ROCKSYNC_REPLICATION_SESSION_NO_SPACE_H_

namespace rocksync {

inline constexpr char kNoSpaceThere[] =
    "no space is left on its disk; make room there";
// The payload of such an error.
inline constexpr char kNoSpacePayload[] = "rocksync/no_space";

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_NO_SPACE_H_
