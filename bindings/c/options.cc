#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "bindings/c/objects.h"
#include "bindings/c/rocksdb_objects.h"
#include "rocksync/c.h"
#include "rocksync/cluster_secret.h"

namespace {

using rocksdb::Status;

template <typename Value>
void Set(rocksync_options_t* options,
         Value rocksync::ReplicatedDBOptions::*field, Value value) {
  if (options != nullptr) options->rep.*field = value;
}

void AddName(rocksync_options_t* options,
             std::vector<std::string> rocksync::ReplicatedDBOptions::*names,
             const char* name) {
  if (options == nullptr) return;
  (options->rep.*names).push_back(rocksync::ToText(name));
}

template <typename Value>
void Set(rocksync_replicator_options_t* options,
         Value rocksync::ReplicatorOptions::*field, Value value) {
  if (options != nullptr) options->rep.*field = value;
}

template <typename Value>
void Set(rocksync_replicator_options_t* options,
         Value rocksync::ReplicatorLimits::*field, Value value) {
  if (options != nullptr) options->rep.limits.*field = value;
}

}  // namespace

extern "C" {

rocksync_options_t* rocksync_options_create(void) {
  return new rocksync_options_t;
}

void rocksync_options_destroy(rocksync_options_t* options) { delete options; }

void rocksync_options_set_cluster_name(rocksync_options_t* options,
                                       const char* name) {
  Set(options, &rocksync::ReplicatedDBOptions::cluster_name,
      rocksync::ToText(name));
}

void rocksync_options_set_cluster_secret(rocksync_options_t* options,
                                         const void* secret, size_t size,
                                         char** errptr) {
  Status status;
  if (options == nullptr) {
    status = rocksync::NullArgument("options");
  } else if (secret == nullptr) {
    status = rocksync::NullArgument("secret");
  } else if (size != options->rep.cluster_secret.size()) {
    status = Status::InvalidArgument(
        "rocksync: a cluster's secret has 32 bytes, not " +
        std::to_string(size));
  } else {
    std::memcpy(options->rep.cluster_secret.data(), secret, size);
  }
  rocksync::SaveError(errptr, status);
}

void rocksync_options_read_cluster_secret(rocksync_options_t* options,
                                          const char* file, char** errptr) {
  Status status;
  if (options == nullptr) {
    status = rocksync::NullArgument("options");
  } else if (file == nullptr) {
    status = rocksync::NullArgument("file");
  } else {
    status = rocksync::ReadClusterSecret(file, &options->rep.cluster_secret);
  }
  rocksync::SaveError(errptr, status);
}

void rocksync_options_add_family(rocksync_options_t* options,
                                 const char* name) {
  AddName(options, &rocksync::ReplicatedDBOptions::families, name);
}

void rocksync_options_add_merge_family(rocksync_options_t* options,
                                       const char* name) {
  AddName(options, &rocksync::ReplicatedDBOptions::merge_families, name);
}

void rocksync_options_add_discard_history_of(rocksync_options_t* options,
                                             const char* name) {
  AddName(options, &rocksync::ReplicatedDBOptions::discard_history_of, name);
}

void rocksync_options_set_adopt_existing(rocksync_options_t* options,
                                         unsigned char adopt) {
  Set(options, &rocksync::ReplicatedDBOptions::adopt_existing, adopt != 0);
}

void rocksync_options_set_adopt_after_index_loss(rocksync_options_t* options,
                                                 unsigned char adopt) {
  Set(options, &rocksync::ReplicatedDBOptions::adopt_after_index_loss,
      adopt != 0);
}

void rocksync_options_set_new_replica_id(rocksync_options_t* options,
                                         uint64_t replica_id) {
  Set(options, &rocksync::ReplicatedDBOptions::new_replica_id, replica_id);
}

void rocksync_options_set_open_copy_as_new_replica(rocksync_options_t* options,
                                                   unsigned char as_new) {
  Set(options, &rocksync::ReplicatedDBOptions::open_copy_as_new_replica,
      as_new != 0);
}

void rocksync_options_set_index_write_buffer_bytes(rocksync_options_t* options,
                                                   size_t bytes) {
  Set(options, &rocksync::ReplicatedDBOptions::index_write_buffer_bytes, bytes);
}

void rocksync_options_set_max_key_bytes(rocksync_options_t* options,
                                        size_t bytes) {
  Set(options, &rocksync::ReplicatedDBOptions::max_key_bytes, bytes);
}

void rocksync_options_set_max_value_bytes(rocksync_options_t* options,
                                          size_t bytes) {
  Set(options, &rocksync::ReplicatedDBOptions::max_value_bytes, bytes);
}

void rocksync_options_set_max_delete_range_keys(rocksync_options_t* options,
                                                uint64_t keys) {
  Set(options, &rocksync::ReplicatedDBOptions::max_delete_range_keys, keys);
}

void rocksync_options_set_min_free_bytes(rocksync_options_t* options,
                                         uint64_t bytes) {
  Set(options, &rocksync::ReplicatedDBOptions::min_free_bytes, bytes);
}

void rocksync_options_set_max_clock_ahead_ms(rocksync_options_t* options,
                                             uint64_t ms) {
  Set(options, &rocksync::ReplicatedDBOptions::max_clock_ahead_ms, ms);
}

void rocksync_options_set_compaction_filters_drop_nothing(
    rocksync_options_t* options, unsigned char promised) {
  Set(options, &rocksync::ReplicatedDBOptions::compaction_filters_drop_nothing,
      promised != 0);
}

void rocksync_options_set_comparators_tell_all_bytes_apart(
    rocksync_options_t* options, unsigned char promised) {
  Set(options, &rocksync::ReplicatedDBOptions::comparators_tell_all_bytes_apart,
      promised != 0);
}

void rocksync_options_set_apply_write_options(
    rocksync_options_t* options, const rocksdb_writeoptions_t* write_options,
    char** errptr) {
  Status status;
  if (options == nullptr) status = rocksync::NullArgument("options");
  if (write_options == nullptr)
    status = rocksync::NullArgument("write_options");
  if (status.ok()) status = rocksync::CheckRocksDBObjects();
  if (status.ok()) {
    options->rep.apply_write_options = rocksync::Unwrap(write_options);
  }
  rocksync::SaveError(errptr, status);
}

rocksync_replicator_options_t* rocksync_replicator_options_create(void) {
  return new rocksync_replicator_options_t;
}

void rocksync_replicator_options_destroy(
    rocksync_replicator_options_t* options) {
  delete options;
}

void rocksync_replicator_options_add_peer(
    rocksync_replicator_options_t* options, const char* address) {
  if (options == nullptr) return;
  options->rep.peers.push_back(rocksync::ToText(address));
}

void rocksync_replicator_options_set_listen_address(
    rocksync_replicator_options_t* options, const char* address) {
  Set(options, &rocksync::ReplicatorOptions::listen_address,
      rocksync::ToText(address));
}

void rocksync_replicator_options_set_interval_ms(
    rocksync_replicator_options_t* options, uint64_t ms) {
  Set(options, &rocksync::ReplicatorOptions::interval, rocksync::Duration(ms));
}

void rocksync_replicator_options_set_max_peers_per_interval(
    rocksync_replicator_options_t* options, size_t peers) {
  Set(options, &rocksync::ReplicatorOptions::max_peers_per_interval, peers);
}

void rocksync_replicator_options_set_scrub_interval_ms(
    rocksync_replicator_options_t* options, uint64_t ms) {
  Set(options, &rocksync::ReplicatorOptions::scrub_interval,
      rocksync::Duration(ms));
}

void rocksync_replicator_options_set_io_timeout_ms(
    rocksync_replicator_options_t* options, uint64_t ms) {
  Set(options, &rocksync::ReplicatorOptions::io_timeout,
      rocksync::Duration(ms));
}

void rocksync_replicator_options_set_shared_listener(
    rocksync_replicator_options_t* options,
    const rocksync_shared_listener_t* listener) {
  Set(options, &rocksync::ReplicatorOptions::shared_listener,
      listener == nullptr ? nullptr : listener->rep);
}

void rocksync_replicator_options_set_max_accepted(
    rocksync_replicator_options_t* options, size_t connections) {
  Set(options, &rocksync::ReplicatorOptions::max_accepted, connections);
}

void rocksync_replicator_options_set_max_sessions(
    rocksync_replicator_options_t* options, size_t sessions) {
  Set(options, &rocksync::ReplicatorLimits::max_sessions, sessions);
}

void rocksync_replicator_options_set_max_session_bytes(
    rocksync_replicator_options_t* options, size_t bytes) {
  Set(options, &rocksync::ReplicatorOptions::max_session_bytes, bytes);
}

void rocksync_replicator_options_set_bytes_per_second(
    rocksync_replicator_options_t* options, uint64_t bytes) {
  Set(options, &rocksync::ReplicatorLimits::bytes_per_second, bytes);
}

void rocksync_replicator_options_set_index_reads_per_second(
    rocksync_replicator_options_t* options, uint64_t reads) {
  Set(options, &rocksync::ReplicatorLimits::index_reads_per_second, reads);
}

void rocksync_replicator_options_set_scrub_bytes_per_second(
    rocksync_replicator_options_t* options, uint64_t bytes) {
  Set(options, &rocksync::ReplicatorLimits::scrub_bytes_per_second, bytes);
}

void rocksync_replicator_options_set_prefer_round_trips(
    rocksync_replicator_options_t* options, unsigned char prefer) {
  Set(options, &rocksync::ReplicatorOptions::prefer,
      prefer != 0 ? rocksync::ReplicatorOptions::Prefer::kRoundTrips
                  : rocksync::ReplicatorOptions::Prefer::kBytes);
}

void rocksync_replicator_options_set_stream(
    rocksync_replicator_options_t* options, unsigned char stream) {
  Set(options, &rocksync::ReplicatorOptions::stream, stream != 0);
}

void rocksync_replicator_options_set_max_stream_peers(
    rocksync_replicator_options_t* options, size_t peers) {
  Set(options, &rocksync::ReplicatorOptions::max_stream_peers, peers);
}

void rocksync_replicator_options_set_stream_buffer_bytes(
    rocksync_replicator_options_t* options, size_t bytes) {
  Set(options, &rocksync::ReplicatorOptions::stream_buffer_bytes, bytes);
}

void rocksync_replicator_options_set_stream_syncs(
    rocksync_replicator_options_t* options, unsigned char syncs) {
  Set(options, &rocksync::ReplicatorOptions::stream_syncs, syncs != 0);
}

void rocksync_replicator_options_set_allow_clones(
    rocksync_replicator_options_t* options, unsigned char allow) {
  Set(options, &rocksync::ReplicatorOptions::allow_clones, allow != 0);
}

void rocksync_replicator_options_set_zone(
    rocksync_replicator_options_t* options, const char* zone) {
  Set(options, &rocksync::ReplicatorOptions::zone, rocksync::ToText(zone));
}

}  // extern "C"
