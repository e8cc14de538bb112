#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include "bindings/c/objects.h"
#include "rocksync/c.h"
#include "rocksync/max_duration.h"
#include "rocksync/metrics.h"
#include "rocksync/verify.h"

namespace {

using rocksdb::Status;
using Kind = rocksync::KeyDifference::Kind;

static_assert(static_cast<int>(Kind::kMissingHere) == rocksync_missing_here);
static_assert(static_cast<int>(Kind::kMissingThere) == rocksync_missing_there);
static_assert(static_cast<int>(Kind::kVersion) == rocksync_version_differs);
static_assert(static_cast<int>(Kind::kContent) == rocksync_content_differs);

// In a child of fork it is not.
bool IsHere(const rocksync_replicator_t& replicator) {
  return rocksync::CheckOwnProcess(*replicator.open).ok();
}

}  // namespace

extern "C" {

void rocksync_replicator_options_set_progress(
    rocksync_replicator_options_t* options, void* state,
    void (*progress)(void* state, const char* session)) {
  if (options == nullptr) return;
  options->rep.progress = nullptr;
  if (progress == nullptr) return;
  options->rep.progress = [state,
                           progress](const rocksync::SessionProgress& session) {
    progress(state, rocksync::SessionJson(session).c_str());
  };
}

rocksync_replicator_t* rocksync_replicator_start(
    rocksync_t* db, const rocksync_replicator_options_t* options,
    rocksync_transport_t* transport, char** errptr) {
  Status status;
  if (db == nullptr) status = rocksync::NullArgument("db");
  if (options == nullptr) status = rocksync::NullArgument("options");
  if (transport == nullptr &&
      (options == nullptr || options->rep.shared_listener == nullptr)) {
    status = rocksync::NullArgument("transport");
  }
  auto replicator = std::make_unique<rocksync_replicator_t>();
  if (status.ok()) status = rocksync::CheckOwnProcess(*db->open);
  if (status.ok()) {
    const std::lock_guard lock(db->open->mutex);
    status = rocksync::CheckNotClosing(*db->open);
    if (status.ok()) ++db->open->replicators;
  }
  if (status.ok()) {
    replicator->open = db->open;
    status = rocksync::Replicator::Start(
        options->rep, db->open->db.get(),
        transport == nullptr ? nullptr : transport->rep, &replicator->rep);
    if (!status.ok()) --db->open->replicators;
  }
  if (rocksync::SaveError(errptr, status)) return nullptr;
  return replicator.release();
}

void rocksync_replicator_stop(rocksync_replicator_t* replicator) {
  if (replicator == nullptr || !IsHere(*replicator)) return;
  replicator->rep->Stop();
}

void rocksync_replicator_destroy(rocksync_replicator_t* replicator) {
  if (replicator == nullptr || !IsHere(*replicator)) return;
  replicator->rep.reset();
  --replicator->open->replicators;
  delete replicator;
}

void rocksync_replicator_sync(rocksync_replicator_t* replicator,
                              const char* peer, char** errptr) {
  Status status;
  if (replicator == nullptr) status = rocksync::NullArgument("replicator");
  if (peer == nullptr) status = rocksync::NullArgument("peer");
  if (status.ok()) status = replicator->rep->SyncNow(peer);
  rocksync::SaveError(errptr, status);
}

unsigned char rocksync_replicator_verify(
    rocksync_replicator_t* replicator, const char* peer, uint64_t max_keys,
    uint64_t wait_ms, void* state,
    void (*differs)(void* state, int difference, const char* family,
                    size_t family_size, const char* key, size_t key_size),
    char** result, char** errptr) {
  Status status;
  if (result != nullptr) *result = nullptr;
  if (replicator == nullptr) status = rocksync::NullArgument("replicator");
  if (peer == nullptr) status = rocksync::NullArgument("peer");
  rocksync::VerifyResult found;
  if (status.ok()) {
    rocksync::VerifyOptions options;
    options.max_keys = max_keys;
    options.in_flight_wait =
        std::min(rocksync::Duration(wait_ms), rocksync::kMaxDuration);
    rocksync::DifferenceCallback callback;
    if (differs != nullptr) {
      callback = [state, differs](const rocksync::KeyDifference& difference) {
        differs(state, static_cast<int>(difference.kind),
                difference.family.data(), difference.family.size(),
                difference.key.data(), difference.key.size());
      };
    }
    status = replicator->rep->Verify(peer, options, callback, &found);
    if (result != nullptr) {
      *result = rocksync::NewText(rocksync::VerifyJson(found));
    }
  }
  return !rocksync::SaveError(errptr, status) && found.equal;
}

void rocksync_replicator_scrub(rocksync_replicator_t* replicator,
                               char** errptr) {
  rocksync::SaveError(errptr, replicator == nullptr
                                  ? rocksync::NullArgument("replicator")
                                  : replicator->rep->ScrubNow());
}

void rocksync_replicator_set_peers(rocksync_replicator_t* replicator,
                                   const char* const* peers, size_t count,
                                   char** errptr) {
  Status status;
  if (replicator == nullptr) status = rocksync::NullArgument("replicator");
  if (count > 0 && peers == nullptr) status = rocksync::NullArgument("peers");
  if (status.ok()) status = rocksync::CheckOwnProcess(*replicator->open);
  std::vector<std::string> addresses;
  for (size_t i = 0; status.ok() && i < count; ++i) {
    if (peers[i] == nullptr) {
      status = rocksync::NullArgument("peers");
    } else {
      addresses.emplace_back(peers[i]);
    }
  }
  if (status.ok()) status = replicator->rep->SetPeers(addresses);
  rocksync::SaveError(errptr, status);
}

void rocksync_replicator_pause(rocksync_replicator_t* replicator) {
  if (replicator == nullptr || !IsHere(*replicator)) return;
  replicator->rep->Pause();
}

void rocksync_replicator_resume(rocksync_replicator_t* replicator) {
  if (replicator == nullptr || !IsHere(*replicator)) return;
  replicator->rep->Resume();
}

void rocksync_replicator_set_limits(rocksync_replicator_t* replicator,
                                    uint64_t bytes_per_second,
                                    uint64_t index_reads_per_second,
                                    uint64_t scrub_bytes_per_second,
                                    size_t max_sessions, char** errptr) {
  if (replicator == nullptr) {
    rocksync::SaveError(errptr, rocksync::NullArgument("replicator"));
    return;
  }
  if (rocksync::SaveError(errptr,
                          rocksync::CheckOwnProcess(*replicator->open))) {
    return;
  }
  rocksync::ReplicatorLimits limits = replicator->rep->limits();
  limits.bytes_per_second = bytes_per_second;
  limits.index_reads_per_second = index_reads_per_second;
  limits.scrub_bytes_per_second = scrub_bytes_per_second;
  limits.max_sessions = max_sessions;
  rocksync::SaveError(errptr, replicator->rep->SetLimits(limits));
}

char* rocksync_replicator_listen_address(
    const rocksync_replicator_t* replicator) {
  if (replicator == nullptr) return nullptr;
  return rocksync::NewText(replicator->rep->listen_address());
}

char* rocksync_replicator_stats_json(const rocksync_replicator_t* replicator) {
  if (replicator == nullptr || !IsHere(*replicator)) return nullptr;
  return rocksync::NewText(replicator->rep->StatusJson());
}

char* rocksync_replicator_stats_prometheus(
    const rocksync_replicator_t* replicator) {
  if (replicator == nullptr || !IsHere(*replicator)) return nullptr;
  return rocksync::NewText(
      rocksync::PrometheusText({replicator->rep->stats()}));
}

}  // extern "C"
