// Small files of a directory, replaced and removed durably: a loss of power
// leaves the file of before or the new one, never a part of either.
//
// Not for files that are appended to, or too large to be written at once. It
// does not know what is in the file, and locks nothing: two who replace one
// file at a time write to the same draft.

#ifndef ROCKSYNC_REPLICATION_BASE_DURABLE_FILE_H_
#define ROCKSYNC_REPLICATION_BASE_DURABLE_FILE_H_

#include <string>
#include <string_view>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Puts `bytes` in place of what the file `name` of `directory` held, if there
// was one. Durable when it returns OK; after an error the file of before or the
// new one is there, and perhaps a draft, NAME.new, which the next call writes
// over. REQUIRES: the directory is there.
rocksdb::Status ReplaceFile(rocksdb::Env* env, const std::string& directory,
                            const std::string& name, std::string_view bytes);

// OK if there was none. Durable when it returns OK.
rocksdb::Status RemoveFile(rocksdb::Env* env, const std::string& directory,
                           const std::string& name);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_DURABLE_FILE_H_
