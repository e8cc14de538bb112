// Guards against use of a database in a child of fork, which has none of its
// parent's threads but shares its files. RocksDB creates its threads once for a
// process, so a database that is opened in the child waits for them without
// end. What the child writes through a database of the parent lands in the
// middle of the parent's log.

#ifndef ROCKSYNC_REPLICATION_BASE_FORKED_H_
#define ROCKSYNC_REPLICATION_BASE_FORKED_H_

#include "rocksdb/status.h"

namespace rocksync {

// Checks that a database may be opened here; called before each opening.
// Returns NotSupported if an earlier opening was in another process, of which
// this one is a child. Thread-safe.
rocksdb::Status CheckNotForked();

// Whether this process was forked from one that had opened a database.
// Thread-safe; costs a load.
bool InForkedChild();

// Checks that this process may write to an open database; called before each
// such write. Returns NotSupported if InForkedChild(). Thread-safe; costs a
// load.
rocksdb::Status CheckMayWriteHere();

// Ends this process with a message: it is a child that was forked by
// `callback`, a function of the application that the library calls, and has
// returned from it. Such a child has nothing to go on with: the work, the
// connections and the threads that it would wait for are its parent's.
[[noreturn]] void EndForkedChild(const char* callback);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_FORKED_H_
