// New replicas as copies of running ones.

#include "rocksync/clone.h"

#include <atomic>
#include <string>
#include <vector>

#include "bindings/c/objects.h"
#include "bindings/c/rocksdb_objects.h"
#include "rocksync/c.h"

namespace {

using rocksdb::Status;
using Stage = rocksync::CloneProgress::Stage;

static_assert(static_cast<int>(Stage::kAsking) == rocksync_clone_asking);
static_assert(static_cast<int>(Stage::kCopying) == rocksync_clone_copying);
static_assert(static_cast<int>(Stage::kOpening) == rocksync_clone_opening);
static_assert(static_cast<int>(Stage::kProving) == rocksync_clone_proving);
static_assert(static_cast<int>(Stage::kCarryingOver) ==
              rocksync_clone_carrying_over);

// What both calls are given.
struct Given {
  const rocksdb_options_t* options;
  const rocksync_options_t* replication;
  const char* name;
  int families;
  const char* const* family_names;
  const rocksdb_options_t* const* family_options;
  const rocksync_clone_options_t* clone;
};

// Calls `copy` with the families and the options, for the time of which they
// live.
template <typename Copy>
Status WithArguments(const Given& given, const Copy& copy) {
  if (given.options == nullptr) return rocksync::NullArgument("options");
  if (given.replication == nullptr) {
    return rocksync::NullArgument("replication");
  }
  if (given.name == nullptr) return rocksync::NullArgument("name");
  if (given.clone == nullptr) return rocksync::NullArgument("clone");
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  Status status = rocksync::CheckRocksDBObjects();
  if (status.ok()) {
    status = rocksync::ToFamilies(given.families, given.family_names,
                                  given.family_options, &families);
  }
  if (!status.ok()) return status;
  if (families.empty()) {
    families.emplace_back(rocksdb::kDefaultColumnFamilyName,
                          rocksync::Unwrap(given.options));
  }
  rocksync::CloneOptions clone = given.clone->rep;
  // Asked for by threads that copy, too.
  std::atomic<bool> cancelled{false};
  clone.cancelled = [&] { return cancelled || given.clone->cancelled; };
  if (given.clone->progress != nullptr) {
    clone.progress = [&](const rocksync::CloneProgress& progress) {
      // Once is enough, whatever it returns later.
      if (given.clone->progress(given.clone->state,
                                static_cast<int>(progress.stage),
                                progress.bytes_done, progress.bytes) == 0) {
        cancelled = true;
      }
    };
  }
  return copy(families, clone);
}

// What both return.
unsigned char Proven(const Status& status, const rocksync::CloneResult& result,
                     char** session_error, char** errptr) {
  if (session_error != nullptr) *session_error = nullptr;
  if (rocksync::SaveError(errptr, status)) return 0;
  if (!result.proven_equal && session_error != nullptr) {
    *session_error = rocksync::NewText(result.session_error);
  }
  return result.proven_equal;
}

}  // namespace

extern "C" {

rocksync_clone_options_t* rocksync_clone_options_create(
    rocksync_transport_t* transport, const char* source) {
  auto* const options = new rocksync_clone_options_t;
  if (transport != nullptr) options->rep.transport = transport->rep;
  options->rep.source = rocksync::ToText(source);
  return options;
}

void rocksync_clone_options_destroy(rocksync_clone_options_t* options) {
  delete options;
}

void rocksync_clone_options_set_io_timeout_ms(rocksync_clone_options_t* options,
                                              uint64_t ms) {
  if (options != nullptr) options->rep.io_timeout = rocksync::Duration(ms);
}

void rocksync_clone_options_set_connections(rocksync_clone_options_t* options,
                                            size_t connections) {
  if (options != nullptr) options->rep.connections = connections;
}

void rocksync_clone_options_cancel(rocksync_clone_options_t* options) {
  if (options != nullptr) options->cancelled = true;
}

void rocksync_clone_options_set_progress(
    rocksync_clone_options_t* options, void* state,
    unsigned char (*progress)(void* state, int stage, uint64_t bytes_done,
                              uint64_t bytes)) {
  if (options == nullptr) return;
  options->state = state;
  options->progress = progress;
}

uint64_t rocksync_clone_replica_id(const char* name, char** errptr) {
  uint64_t id = 0;
  const Status status =
      name == nullptr
          ? rocksync::NullArgument("name")
          : rocksync::ReadCloneReplicaId(rocksdb::Env::Default(), name, &id);
  if (!status.IsNotFound()) rocksync::SaveError(errptr, status);
  return id;
}

unsigned char rocksync_clone(const rocksdb_options_t* options,
                             const rocksync_options_t* replication,
                             const char* name, int families,
                             const char* const* family_names,
                             const rocksdb_options_t* const* family_options,
                             const rocksync_clone_options_t* clone,
                             char** session_error, char** errptr) {
  rocksync::CloneResult result;
  const Status status = WithArguments(
      {options, replication, name, families, family_names, family_options,
       clone},
      [&](const auto& descriptors, const rocksync::CloneOptions& copy) {
        return rocksync::ReplicatedDB::Clone(rocksync::Unwrap(options),
                                             replication->rep, name,
                                             descriptors, copy, &result);
      });
  return Proven(status, result, session_error, errptr);
}

unsigned char rocksync_resync(const rocksdb_options_t* options,
                              const rocksync_options_t* replication,
                              const char* name, int families,
                              const char* const* family_names,
                              const rocksdb_options_t* const* family_options,
                              const rocksync_clone_options_t* clone,
                              double copy_from_share, uint64_t* carried_over,
                              char** session_error, char** errptr) {
  rocksync::ResyncResult result;
  const Status status = WithArguments(
      {options, replication, name, families, family_names, family_options,
       clone},
      [&](const auto& descriptors, const rocksync::CloneOptions& copy) {
        return rocksync::ReplicatedDB::Resync(
            rocksync::Unwrap(options), replication->rep, name, descriptors,
            {.copy = copy, .copy_from_share = copy_from_share}, &result);
      });
  if (carried_over != nullptr) *carried_over = result.carried_over;
  return Proven(status, result.copy, session_error, errptr);
}

}  // extern "C"
