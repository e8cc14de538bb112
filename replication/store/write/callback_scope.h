// Functions of the application that are called while the locks of some keys are
// held: what one of them wrote would wait for its own thread.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_CALLBACK_SCOPE_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_CALLBACK_SCOPE_H_

#include <cstdint>

#include "replication/store/write/indexed_db.h"
#include "rocksdb/status.h"

namespace rocksync {

enum class Callback : uint8_t {
  kUpdate,     // the function that Update calls
  kApplyHook,  // ReplicatedDBOptions::hook
};

// While it lives, this thread runs such a function of this database. Scopes
// nest: a function may change another database, which has a hook of its own.
class CallbackScope {
 public:
  CallbackScope(const IndexedDB* indexed, Callback callback);
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  friend rocksdb::Status CheckNotInCallback(const IndexedDB* indexed);

  const IndexedDB* const indexed_;
  const Callback callback_;
  const CallbackScope* const outer_;
};

// InvalidArgument in a thread that runs such a function of this database.
rocksdb::Status CheckNotInCallback(const IndexedDB* indexed);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_CALLBACK_SCOPE_H_
