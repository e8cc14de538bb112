// What is said of errors of storage, here and to a peer.

#ifndef ROCKSYNC_REPLICATION_SESSION_STORAGE_ERRORS_H_
#define ROCKSYNC_REPLICATION_SESSION_STORAGE_ERRORS_H_

namespace rocksync {

inline constexpr char kNoSpaceThere[] =
    "no space is left on its disk; make room there";
// The payload of an error of a full disk.
inline constexpr char kNoSpacePayload[] = "rocksync/no_space";

// What ends a failure that is corruption: the end of a sentence.
inline constexpr char kCorruptionRemedy[] =
    "restart this replica, and if that comes back replace it by a new, empty "
    "one, which its peers fill";

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_STORAGE_ERRORS_H_
