// A child of fork has none of the threads of its parent, and shares its files:
// RocksDB makes its threads once for a process, so that a database that is
// opened there waits for them without end, and what is written there by a
// database of the parent goes into the middle of the parent's log.

#ifndef ROCKSYNC_REPLICATION_BASE_FORKED_H_
#define ROCKSYNC_REPLICATION_BASE_FORKED_H_

#include <sys/types.h>

#include "rocksdb/status.h"

namespace rocksync {

// Before each opening of a database. NotSupported: an earlier one was in
// another process, of which this one is a child. Thread-safe.
rocksdb::Status CheckNotForked();

// Whether this process is a child of fork of one that had opened a database.
// Thread-safe; costs a load.
bool InForkedChild();

// Before whatever writes to a database that is open. NotSupported in such a
// child. Thread-safe; costs a load.
rocksdb::Status CheckMayWriteHere();

// After `callback`, a function of the application that a thread of the library
// calls, has returned. It may have called fork, and the child has nothing to go
// on with: the work and the connections are its parent's, and so are the
// threads that this one would wait for. Ends such a child with a message.
// `parent`: the process in which the work began.
void EndForkedChild(const char* callback, pid_t parent);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_FORKED_H_
