// What is said of errors of storage, here and to a peer.

#ifndef ROCKSYNC_REPLICATION_TEXT_STORAGE_ERRORS_H_
#define ROCKSYNC_REPLICATION_TEXT_STORAGE_ERRORS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace rocksync {

inline constexpr char kNoSpaceThere[] =
    "no space is left on its disk; make room there";
// The payload of an error of a full disk.
inline constexpr char kNoSpacePayload[] = "rocksync/no_space";

// The payload of an error that an index build is the cause of: unlike other
// causes it passes by itself.
inline constexpr char kIndexBuildPayload[] = "rocksync/index_build";

// Unavailable, for as long as an index build runs; `why` is told to the peer.
absl::Status IndexBuildError(absl::string_view why);
bool IsIndexBuildError(const absl::Status& status);

// What ends a failure that is corruption: the end of a sentence.
inline constexpr char kCorruptionRemedy[] =
    "restart this replica, and if that comes back replace it by a new, empty "
    "one, which its peers fill";

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TEXT_STORAGE_ERRORS_H_
