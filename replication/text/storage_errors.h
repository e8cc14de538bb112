// Storage errors: the payloads that tell their causes apart, and the texts that
// operators and peers read.

#ifndef ROCKSYNC_REPLICATION_TEXT_STORAGE_ERRORS_H_
#define ROCKSYNC_REPLICATION_TEXT_STORAGE_ERRORS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace rocksync {

inline constexpr char kNoSpaceThere[] =
    "no space is left on its disk; make room there";
// The payload of an error that a full disk caused.
inline constexpr char kNoSpacePayload[] = "rocksync/no_space";

// The payload of an error that an index build caused: unlike other causes, that
// one passes by itself.
inline constexpr char kIndexBuildPayload[] = "rocksync/index_build";

// Returns Unavailable with that payload, for as long as an index build runs.
// The peer is told `why`.
absl::Status IndexBuildError(absl::string_view why);
bool IsIndexBuildError(const absl::Status& status);

// The end of the message of a failure that is corruption: what to do about it.
inline constexpr char kCorruptionRemedy[] =
    "restart this replica, and if that comes back replace it by a new, empty "
    "one, which its peers fill";

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TEXT_STORAGE_ERRORS_H_
