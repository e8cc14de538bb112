// What is behind the types of rocksync/c.h, and how calls report errors.

#ifndef BINDINGS_C_OBJECTS_H_
#define BINDINGS_C_OBJECTS_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rocksdb/c.h"
#include "rocksdb/status.h"
#include "rocksync/options.h"
#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"
#include "rocksync/transport.h"

namespace rocksync {

// A database, for all that lives on it.
struct OpenDatabase {
  std::unique_ptr<ReplicatedDB> db;
  std::atomic<int> rocksdbs{0};     // rocksdb_t not closed yet
  std::atomic<int> replicators{0};  // not destroyed yet
};

// Puts an error into *errptr, in place of one that is there, as RocksDB's C
// functions do. True if there was one.
bool SaveError(char** errptr, const rocksdb::Status& status);

// The error of an argument that must not be null.
rocksdb::Status NullArgument(const char* name);

// For rocksync_free.
char* NewText(const std::string& text);

}  // namespace rocksync

struct rocksync_options_t {
  rocksync::ReplicatedDBOptions rep;
};

struct rocksync_t {
  std::shared_ptr<rocksync::OpenDatabase> open;
  std::mutex mutex;
  // Of families that were opened or created: RocksDB's C objects, whose handles
  // belong to the database.
  std::vector<rocksdb_column_family_handle_t*> families;
};

struct rocksync_transport_t {
  std::shared_ptr<rocksync::Transport> rep;
};

struct rocksync_replicator_options_t {
  rocksync::ReplicatorOptions rep;
};

struct rocksync_replicator_t {
  std::shared_ptr<rocksync::OpenDatabase> open;  // outlives rep
  std::unique_ptr<rocksync::Replicator> rep;
};

#endif  // BINDINGS_C_OBJECTS_H_
