// A way to an open database that may be deleted like any rocksdb::DB, without
// the database being closed by that.

#ifndef BINDINGS_C_VIEW_H_
#define BINDINGS_C_VIEW_H_

#include <memory>

#include "bindings/c/objects.h"
#include "rocksdb/db.h"

namespace rocksync {

// Counted in `open->rocksdbs` while it lives. Passes everything on, but neither
// closes the database nor creates families: the handles of a replicated
// database are the library's to delete, and RocksDB's C functions would.
rocksdb::DB* NewView(std::shared_ptr<OpenDatabase> open);

}  // namespace rocksync

#endif  // BINDINGS_C_VIEW_H_
