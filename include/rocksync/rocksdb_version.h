// The version of RocksDB that this is compiled with. Application and library
// have to be compiled with the same one.

#ifndef ROCKSYNC_ROCKSDB_VERSION_H_
#define ROCKSYNC_ROCKSDB_VERSION_H_

#include "rocksdb/version.h"

#define ROCKSYNC_ROCKSDB_AT_LEAST(major, minor) \
  (ROCKSDB_MAJOR > (major) ||                   \
   (ROCKSDB_MAJOR == (major) && ROCKSDB_MINOR >= (minor)))

#endif  // ROCKSYNC_ROCKSDB_VERSION_H_
