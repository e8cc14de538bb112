// From RocksDB's C objects to its C++ objects, and back. What is inside of the
// former is known to RocksDB's c.cc alone. So its own C functions make and read
// them for us: they call virtual functions of a database, and the database that
// they are given here is one of ours, which gives out or keeps what passes by.

#ifndef BINDINGS_C_ROCKSDB_OBJECTS_H_
#define BINDINGS_C_ROCKSDB_OBJECTS_H_

#include "rocksdb/c.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace rocksync {

// Whether all below works with the RocksDB that this process has loaded; tried
// once. NotSupported names what does not.
rocksdb::Status CheckRocksDBObjects();

// REQUIRES, all of them: CheckRocksDBObjects() was OK.

// For rocksdb_close, which deletes `db`.
rocksdb_t* NewCObject(rocksdb::DB* db);
rocksdb_column_family_handle_t* NewCObject(rocksdb::ColumnFamilyHandle* handle);
// Deletes the C object alone, and not the handle.
void FreeCObject(rocksdb_column_family_handle_t* handle);

rocksdb::ColumnFamilyHandle* Unwrap(rocksdb_column_family_handle_t* handle);
const rocksdb::Options& Unwrap(const rocksdb_options_t* options);
rocksdb::WriteOptions Unwrap(const rocksdb_writeoptions_t* options);

}  // namespace rocksync

#endif  // BINDINGS_C_ROCKSDB_OBJECTS_H_
