// Replaces and removes small files of a directory durably: a loss of power
// leaves the old file or the new one, never a part of either.
//
// Not for files that are appended to, or that are too large to be written at
// once. The functions do not know what is in the file and take no lock: two
// callers that replace one file at the same time write to the same draft.

#ifndef ROCKSYNC_REPLICATION_BASE_DURABLE_FILE_H_
#define ROCKSYNC_REPLICATION_BASE_DURABLE_FILE_H_

#include <string>
#include <string_view>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Replaces the content of the file `name` in `directory` with `bytes`, or
// creates the file. The change is durable when it returns OK. After an error
// the old file or the new one is there, and perhaps a draft, NAME.new, which
// the next call overwrites. REQUIRES: the directory exists.
rocksdb::Status ReplaceFile(rocksdb::Env* env, const std::string& directory,
                            const std::string& name, std::string_view bytes);

// Removes the file. Returns OK if there was none. Durable when it returns OK.
rocksdb::Status RemoveFile(rocksdb::Env* env, const std::string& directory,
                           const std::string& name);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_DURABLE_FILE_H_
