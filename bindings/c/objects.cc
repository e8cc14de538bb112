#include "bindings/c/objects.h"

#include <cstdlib>
#include <cstring>

#include "rocksync/c.h"

namespace rocksync {

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
