#include "bindings/c/objects.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "bindings/c/rocksdb_objects.h"
#include "rocksync/c.h"

namespace rocksync {

int64_t ThisProcess() { return ::getpid(); }

bool SaveError(char** errptr, const rocksdb::Status& status) {
  if (status.ok()) return false;
  if (errptr != nullptr) {
    std::free(*errptr);
    *errptr = NewText(status.ToString());
  }
  return true;
}

rocksdb::Status NullArgument(const char* name) {
  return rocksdb::Status::InvalidArgument("rocksync: argument is NULL", name);
}

std::chrono::milliseconds Duration(uint64_t ms) {
  return std::chrono::milliseconds(
      static_cast<int64_t>(std::min<uint64_t>(ms, INT64_MAX)));
}

rocksdb::Status CheckOwnProcess(const OpenDatabase& open) {
  return open.process == ThisProcess()
             ? rocksdb::Status::OK()
             : rocksdb::Status::NotSupported(
                   "rocksync: this process was forked from the one that opened "
                   "the database",
                   "use it there; a child may exec, or leave by _exit");
}

rocksdb::Status CheckNotClosing(const OpenDatabase& open) {
  return open.closing ? rocksdb::Status::ShutdownInProgress(
                            "rocksync: the database is being closed")
                      : rocksdb::Status::OK();
}

rocksdb::Status ToFamilies(int families, const char* const* names,
                           const rocksdb_options_t* const* options,
                           std::vector<rocksdb::ColumnFamilyDescriptor>* out) {
  if (families < 0) {
    return rocksdb::Status::InvalidArgument(
        "rocksync: " + std::to_string(families) + " column families");
  }
  if (families > 0 && names == nullptr) return NullArgument("family_names");
  if (families > 0 && options == nullptr) return NullArgument("family_options");
  for (int i = 0; i < families; ++i) {
    if (names[i] == nullptr || options[i] == nullptr) {
      return NullArgument("a family's name or options");
    }
    // Its handle would be null, and RocksDB's C functions take no such one.
    if (std::strcmp(names[i], kIndexFamilyName) == 0) {
      return rocksdb::Status::InvalidArgument(
          "rocksync: column family " + std::string(names[i]),
          "the index is opened by the library; leave it out");
    }
    out->emplace_back(names[i], Unwrap(options[i]));
  }
  return rocksdb::Status::OK();
}

char* NewText(const std::string& text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace rocksync

extern "C" {

void rocksync_free(void* text) { std::free(text); }

const char* rocksync_version(void) { return ROCKSYNC_VERSION; }

}  // extern "C"
