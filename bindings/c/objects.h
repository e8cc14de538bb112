// What is behind the types of rocksync/c.h, and how calls report errors.

#ifndef BINDINGS_C_OBJECTS_H_
#define BINDINGS_C_OBJECTS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rocksdb/c.h"
#include "rocksdb/status.h"
#include "rocksync/clone.h"
#include "rocksync/hooks.h"
#include "rocksync/options.h"
#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"
#include "rocksync/shared_listener.h"
#include "rocksync/transport.h"

namespace rocksync {

// The id of this process, a child of fork's own.
int64_t ThisProcess();

// A database, for all that lives on it.
struct OpenDatabase {
  std::unique_ptr<ReplicatedDB> db;
  // Held by whoever makes one of these, which nobody does once it is closing.
  std::mutex mutex;
  bool closing = false;
  std::atomic<int> rocksdbs{0};     // rocksdb_t not closed yet
  std::atomic<int> replicators{0};  // not destroyed yet
  // Its threads are there alone: a child of fork can give nothing back.
  const int64_t process = ThisProcess();
};

// Before its mutex is taken, which a thread of the parent may have held when a
// child of fork began. NotSupported: this is such a child.
rocksdb::Status CheckOwnProcess(const OpenDatabase& open);

// REQUIRES: the database's mutex is held.
rocksdb::Status CheckNotClosing(const OpenDatabase& open);

// Puts an error into *errptr, in place of one that is there, as RocksDB's C
// functions do. True if there was one.
bool SaveError(char** errptr, const rocksdb::Status& status);

// The error of an argument that must not be null.
rocksdb::Status NullArgument(const char* name);

// Text that is an argument: null is the empty text, which is refused where it
// is used.
inline std::string ToText(const char* text) {
  return text == nullptr ? "" : text;
}

// What is longer than can be counted is refused at the start as too long.
std::chrono::milliseconds Duration(uint64_t ms);

// Families as rocksync_open_column_families takes them. InvalidArgument: one is
// null or the index, or there are less than none. REQUIRES:
// CheckRocksDBObjects() was OK.
rocksdb::Status ToFamilies(int families, const char* const* names,
                           const rocksdb_options_t* const* options,
                           std::vector<rocksdb::ColumnFamilyDescriptor>* out);

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
  // By a close that was refused all the same, since something was used
  // meanwhile: not to be given back again.
  bool given_back = false;
};

struct rocksync_transport_t {
  std::shared_ptr<rocksync::Transport> rep;
};

struct rocksync_shared_listener_t {
  std::shared_ptr<rocksync::SharedListener> rep;
};

struct rocksync_replicator_options_t {
  rocksync::ReplicatorOptions rep;
};

struct rocksync_clone_options_t {
  rocksync::CloneOptions rep;
  std::atomic<bool> cancelled{false};
  void* state = nullptr;  // for progress
  unsigned char (*progress)(void* state, int stage, uint64_t bytes_done,
                            uint64_t bytes) = nullptr;
};

struct rocksync_values_t {
  std::vector<std::optional<std::string>>* values;
  rocksdb::Status status;  // of rocksync_values_set
};

struct rocksync_changes_t {
  const std::vector<rocksync::AppliedChange>& changes;
  // Who sent each, if that is known; else empty.
  const std::vector<uint64_t>& sources;
};

struct rocksync_replicator_t {
  std::shared_ptr<rocksync::OpenDatabase> open;  // outlives rep
  std::unique_ptr<rocksync::Replicator> rep;
};

#endif  // BINDINGS_C_OBJECTS_H_
