// What the program is told by its options.

#ifndef EXAMPLES_REPLICATED_STORE_SETTINGS_H_
#define EXAMPLES_REPLICATED_STORE_SETTINGS_H_

#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "examples/replicated_store/page_server.h"
#include "examples/replicated_store/server.h"
#include "rocksync/options.h"
#include "rocksync/replicator.h"
#include "rocksync/tls_transport.h"

namespace rocksync {

struct Settings {
  std::string directory;
  std::string cluster = "trial";
  bool as_new_replica = false;
  bool adopt_after_index_loss = false;
  bool sync_writes = false;
  bool no_stream = false;
  bool no_clones = false;
  uint64_t min_free_mib = ReplicatedDBOptions().min_free_bytes >> 20;
  uint64_t memory_mib = 64;

  ServerOptions redis;
  PageOptions page;
  int page_port = -1;  // no page
  ReplicatorOptions replicator;
  uint64_t sync_interval_ms = 1000;
  uint64_t peer_timeout_ms = 10'000;
  uint64_t scrub_interval_hours = 7 * 24;
  uint64_t scrub_mib_per_second = 8;

  std::string trial_directory;
  TlsTransportOptions tls;
  std::string secret_file;
};

// `app` parses them into `*settings`, which must be there while it does.
void AddOptions(CLI::App* app, Settings* settings);

// Whether an identity is given, which takes several options, or one for trials.
bool HasIdentity(const Settings& settings);

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_SETTINGS_H_
