// Tracks the functions of the application that the library calls. In these,
// some calls of the library would wait for their own thread: a write while the
// locks of its keys are held, a session in a session.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_CALLBACK_SCOPE_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_CALLBACK_SCOPE_H_

#include <cstdint>

#include "replication/store/write/indexed_db.h"
#include "rocksdb/status.h"

namespace rocksync {

enum class Callback : uint8_t {
  // Called while the locks of some keys are held:
  kUpdate,     // the function that Update calls
  kApplyHook,  // ReplicatedDBOptions::hook
  // Called while a session or a call of the replicator is under way:
  kProgress,    // ReplicatorOptions::progress
  kDifference,  // the function that Verify calls
};

// Marks, while it lives, that this thread runs such a function of this
// database. Scopes nest: a function may change another database, which has a
// hook of its own. A child of fork ends with a message if it returns from a
// function that a thread of the library calls; Update returns an error there.
class CallbackScope {
 public:
  CallbackScope(const IndexedDB* indexed, Callback callback);
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  friend rocksdb::Status CheckNotInCallback(const IndexedDB* indexed);
  friend const char* CallbackHere(const IndexedDB* indexed);
  static const CallbackScope* Innermost(const IndexedDB* indexed);

  const IndexedDB* const indexed_;
  const Callback callback_;
  const CallbackScope* const outer_;
};

// Returns InvalidArgument if this thread runs a function of this database that
// is called while locks are held: a write would wait for them.
rocksdb::Status CheckNotInCallback(const IndexedDB* indexed);

// Returns the function of this database that this thread runs, in words; null:
// none.
const char* CallbackHere(const IndexedDB* indexed);
// Whether this thread runs such a function of any database.
bool IsInCallback();
// Returns InvalidArgument if this thread runs one of this database: `call`
// might wait for its own thread. Returns NotSupported in a child of fork: it
// would wait for threads of the parent.
rocksdb::Status CheckMayWait(const IndexedDB* indexed, const char* call);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_CALLBACK_SCOPE_H_
