// Reading, changing and writing keys under their locks.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bindings/c/objects.h"
#include "bindings/c/rocksdb_objects.h"
#include "rocksync/c.h"
#include "rocksync/limits.h"

namespace {

using rocksdb::Status;

Status ToKeys(rocksync::ReplicatedDB* db, size_t count,
              rocksdb_column_family_handle_t* const* families,
              const char* const* keys, const size_t* key_sizes,
              std::vector<rocksync::UpdatedKey>* out) {
  for (size_t i = 0; i < count; ++i) {
    if (keys[i] == nullptr || (families != nullptr && families[i] == nullptr)) {
      return rocksync::NullArgument("a key or its family");
    }
    out->push_back({families == nullptr ? db->DefaultColumnFamily()
                                        : rocksync::Unwrap(families[i]),
                    rocksdb::Slice(keys[i], key_sizes[i])});
  }
  return Status::OK();
}

}  // namespace

extern "C" {

void rocksync_update(
    rocksync_t* db, const rocksdb_writeoptions_t* options, size_t count,
    rocksdb_column_family_handle_t* const* families, const char* const* keys,
    const size_t* key_sizes, void* state,
    unsigned char (*change)(void* state, rocksync_values_t* values),
    char** errptr) {
  Status status;
  if (db == nullptr) status = rocksync::NullArgument("db");
  if (options == nullptr) status = rocksync::NullArgument("options");
  if (count > 0 && keys == nullptr) status = rocksync::NullArgument("keys");
  if (count > 0 && key_sizes == nullptr) {
    status = rocksync::NullArgument("key_sizes");
  }
  if (change == nullptr) status = rocksync::NullArgument("change");
  std::vector<rocksync::UpdatedKey> updated;
  if (status.ok()) {
    status =
        ToKeys(db->open->db.get(), count, families, keys, key_sizes, &updated);
  }
  if (status.ok()) {
    status = db->open->db->Update(
        rocksync::Unwrap(options), updated,
        [&](std::vector<std::optional<std::string>>* values) {
          rocksync_values_t seen{values, Status::OK()};
          const bool write = change(state, &seen) != 0;
          if (!write) {
            return Status::Aborted("rocksync: `change` gave the update up");
          }
          return seen.status;
        });
  }
  rocksync::SaveError(errptr, status);
}

const char* rocksync_values_get(const rocksync_values_t* values, size_t i,
                                size_t* size) {
  const bool there = values != nullptr && i < values->values->size() &&
                     (*values->values)[i].has_value();
  if (size != nullptr) *size = there ? (*values->values)[i]->size() : 0;
  return there ? (*values->values)[i]->data() : nullptr;
}

void rocksync_values_set(rocksync_values_t* values, size_t i, const char* value,
                         size_t size) {
  if (values == nullptr) return;
  if (i >= values->values->size()) {
    values->status = Status::InvalidArgument(
        "rocksync: a value is set for key number " + std::to_string(i) +
        ", and the update has " + std::to_string(values->values->size()) +
        " keys");
    return;
  }
  // Before it is copied, whatever its size is said to be.
  if (value != nullptr && size > rocksync::kMaxValueBytes) {
    values->status = Status::InvalidArgument(
        "rocksync: a value of " + std::to_string(size) + " bytes",
        "max_value_bytes is at most " +
            std::to_string(rocksync::kMaxValueBytes));
    return;
  }
  // The new value may lie in the old one.
  std::optional<std::string> copy;
  if (value != nullptr) copy.emplace(value, size);
  (*values->values)[i] = std::move(copy);
}

}  // extern "C"
