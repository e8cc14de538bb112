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

Status Clone(const rocksdb::Options& options,
             const rocksync::ReplicatedDBOptions& replication,
             const std::string& name,
             const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
             const rocksync_clone_options_t& given,
             rocksync::CloneResult* result) {
  rocksync::CloneOptions clone = given.rep;
  // Asked for by threads that copy, too.
  std::atomic<bool> cancelled{false};
  if (given.progress != nullptr) {
    clone.progress = [&](const rocksync::CloneProgress& progress) {
      // Once is enough, whatever it returns later.
      if (given.progress(given.state, static_cast<int>(progress.stage),
                         progress.bytes_done, progress.bytes) == 0) {
        cancelled = true;
      }
    };
    clone.cancelled = [&] { return cancelled.load(); };
  }
  return rocksync::ReplicatedDB::Clone(options, replication, name, families,
                                       clone, result);
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
  if (session_error != nullptr) *session_error = nullptr;
  Status status;
  if (options == nullptr) status = rocksync::NullArgument("options");
  if (replication == nullptr) status = rocksync::NullArgument("replication");
  if (name == nullptr) status = rocksync::NullArgument("name");
  if (clone == nullptr) status = rocksync::NullArgument("clone");
  if (status.ok()) status = rocksync::CheckRocksDBObjects();
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  if (status.ok()) {
    status = rocksync::ToFamilies(families, family_names, family_options,
                                  &descriptors);
  }
  if (status.ok() && descriptors.empty()) {
    descriptors.emplace_back(rocksdb::kDefaultColumnFamilyName,
                             rocksync::Unwrap(options));
  }
  rocksync::CloneResult result;
  if (status.ok()) {
    status = Clone(rocksync::Unwrap(options), replication->rep, name,
                   descriptors, *clone, &result);
  }
  if (rocksync::SaveError(errptr, status)) return 0;
  if (!result.proven_equal && session_error != nullptr) {
    *session_error = rocksync::NewText(result.session_error);
  }
  return result.proven_equal;
}

}  // extern "C"
