// A replicated key-value store that speaks the Redis protocol: a RocksDB
// database, a replicator that keeps it equal to its peers, and a port for
// redis-cli. Several of these, given each other's addresses, are a cluster.
//
//   replicated_store --dir a --redis-port 6401 --listen 127.0.0.1:7401
//                    --peer 127.0.0.1:7402 --certificates trial

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "examples/replicated_store/commands.h"
#include "examples/replicated_store/log_lines.h"
#include "examples/replicated_store/new_database.h"
#include "examples/replicated_store/page_server.h"
#include "examples/replicated_store/replication_news.h"
#include "examples/replicated_store/secret.h"
#include "examples/replicated_store/server.h"
#include "examples/replicated_store/service_notify.h"
#include "examples/replicated_store/settings.h"
#include "examples/replicated_store/traffic_history.h"
#include "rocksdb/cache.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "rocksync/cluster_secret.h"
#include "rocksync/filter_policy.h"
#include "rocksync/leaf_fingerprints.h"
#include "rocksync/options.h"
#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"
#include "rocksync/stats.h"
#include "rocksync/tls_transport.h"
#include "rocksync/transport.h"
#include "rocksync/trial_certificates.h"
#include "spdlog/spdlog.h"
#include "tools/help/help_formatter.h"
#include "tools/help/standard_descriptors.h"
#include "tools/secret/open_to_all.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// Beyond it they need room on disk, for RocksDB's log, rather than memory.
constexpr size_t kMaxWriteBuffer = size_t{256} << 20;

// Before a database is made that belongs to this cluster. Port 0, any, is for
// who listens alone.
Status CheckAddresses(const ReplicatorOptions& options) {
  const auto check = [](const char* option, const std::string& address) {
    const Status status = CheckHostPort(address);
    return status.ok() ? status
                       : Status::InvalidArgument(option, status.getState());
  };
  Status status;
  for (const std::string& peer : options.peers) {
    if (status.ok()) status = check("--peer", peer);
  }
  const std::string& listen = options.listen_address;
  if (status.ok() && !listen.empty() && !listen.ends_with(":0")) {
    status = check("--listen", listen);
  }
  return status;
}

// Of an identity that has been in use the option changes nothing, and whoever
// gave it relies on it.
void WarnThatItStaysItself(const Settings& settings,
                           const ReplicaIdentity& identity) {
  if (!settings.as_new_replica || identity.incarnation == 1) return;
  spdlog::warn(
      "--as-new-replica has no effect, this remains replica {:016x}: nothing "
      "tells that {} is a copy. If it is one, stop, remove the file ROCKSYNC "
      "in it and start again; otherwise leave the option out",
      identity.replica_id, settings.directory);
}

Status ReadSecret(const Settings& settings, ClusterSecret* secret) {
  return settings.trial_directory.empty()
             ? ReadClusterSecret(settings.secret_file, secret)
             : MakeTrialSecret(settings.trial_directory, secret);
}

// `may_be_made`: if it is not there.
Status OpenDatabase(const Settings& settings, const ClusterSecret& secret,
                    bool may_be_made, std::unique_ptr<ReplicatedDB>* database) {
  ReplicatedDBOptions replication;
  replication.cluster_secret = secret;
  const size_t memory = static_cast<size_t>(settings.memory_mib) << 20;
  replication.cluster_name = settings.cluster;
  replication.open_copy_as_new_replica = settings.as_new_replica;
  replication.adopt_after_index_loss = settings.adopt_after_index_loss;
  replication.min_free_bytes = settings.min_free_mib << 20;
  replication.index_filter_policy = NewFilterPolicy(10);
  replication.index_write_buffer_bytes = std::min(memory / 2, kMaxWriteBuffer);

  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = NewFilterPolicy(10);
  table.block_cache = rocksdb::NewLRUCache(memory);
  rocksdb::Options options;
  options.create_if_missing = may_be_made;
  options.write_buffer_size = std::min(memory / 2, kMaxWriteBuffer);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  ReplicatedDB* opened = nullptr;
  const Status status =
      ReplicatedDB::Open(options, replication, settings.directory, &opened);
  database->reset(opened);
  return status;
}

Status MakeTransport(const Settings& settings, uint64_t replica_id,
                     std::shared_ptr<Transport>* transport) {
  TlsTransportOptions tls = settings.tls;
  if (!settings.trial_directory.empty()) {
    TrialCertificate certificate;
    const Status status = MakeTrialCertificate(settings.trial_directory,
                                               replica_id, &certificate);
    if (!status.ok()) return status;
    tls.ca_file = certificate.ca_file;
    tls.certificate_file = certificate.certificate_file;
    tls.private_key_file = certificate.private_key_file;
  }
  tls.refused = LogRefusedCertificates();
  const Status status = NewTlsTransport(tls, transport);
  // It may pass by itself: the clock is not set yet, or the files are just
  // being replaced.
  return status.IsInvalidArgument() ? Status::IOError(status.getState())
                                    : status;
}

uint64_t NowMs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
}

// "a" of "/var/lib/a/".
std::string NameOf(const std::string& directory) {
  std::filesystem::path path(directory);
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string();
}

// What runs. The parts go in the opposite order.
struct Parts {
  std::unique_ptr<ReplicatedDB> database;
  std::unique_ptr<Replicator> replicator;
  std::unique_ptr<Commands> commands;
  std::unique_ptr<Server> server;
  TrafficHistory traffic;
  TombstoneWait tombstone_wait;
  std::unique_ptr<PageServer> page;
};

// A shell's limit is often 1024, which clients and RocksDB use up together.
void AllowOpenFiles() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

void WarnOfOpenFiles(const Settings& settings) {
  for (const std::string& file :
       {settings.tls.private_key_file, settings.secret_file}) {
    if (!IsOpenToAll(file)) continue;
    spdlog::warn("every user of this machine may read {}; chmod o= {}", file,
                 file);
  }
}

// Certificates come before the database, so that none is made whose id they do
// not name; those for trials are made for the id that it has. `*in_vain`: it is
// the same when it is tried again.
Status Open(const Settings& settings, std::shared_ptr<Transport>* transport,
            std::unique_ptr<ReplicatedDB>* database, bool* in_vain) {
  ClusterSecret secret;
  bool may_be_made = true;
  const bool of_trial = !settings.trial_directory.empty();
  Status status = ReadSecret(settings, &secret);
  if (status.ok() && !of_trial) {
    status = MakeTransport(settings, /*replica_id=*/0, transport);
    if (status.ok()) {
      status =
          CheckNewDatabase(settings.directory, settings.tls.certificate_file,
                           (*transport)->replica_id(), &may_be_made);
    }
  }
  if (!status.ok()) return status;
  status = OpenDatabase(settings, secret, may_be_made, database);
  // A copy, an unfinished clone, a lost index, a damaged file.
  *in_vain = status.IsAborted() || status.IsCorruption();
  if (!status.ok()) return status;
  LogDroppedBatches((*database)->GetDiskSpaceStats().log_batches_dropped);
  if (!of_trial) return status;
  return MakeTransport(settings, (*database)->Identity().replica_id, transport);
}

Status StartReplicator(const Settings& settings,
                       const std::shared_ptr<Transport>& transport,
                       Parts* parts) {
  ReplicatorOptions options = settings.replicator;
  options.interval = std::chrono::milliseconds(settings.sync_interval_ms);
  options.io_timeout = std::chrono::milliseconds(settings.peer_timeout_ms);
  options.stream = !settings.no_stream;
  options.scrub_interval = std::chrono::hours(settings.scrub_interval_hours);
  options.limits.scrub_bytes_per_second = settings.scrub_mib_per_second << 20;
  options.allow_clones = !settings.no_clones;
  options.progress =
      [news = std::make_shared<SessionNews>()](const SessionProgress& session) {
        news->Log(session);
      };
  const Status status = Replicator::Start(options, parts->database.get(),
                                          transport, &parts->replicator);
  if (status.ok() && !parts->replicator->listen_address().empty()) {
    spdlog::info("peers connect to {}", parts->replicator->listen_address());
  }
  return status;
}

Status StartServer(const Settings& settings, Parts* parts) {
  CommandOptions options;
  options.sync_writes = settings.sync_writes;
  options.peers = settings.replicator.peers;
  ReplicatedDB* const database = parts->database.get();
  options.set_members = [database](uint64_t epoch,
                                   const std::vector<uint64_t>& ids) {
    return database->SetMembers(epoch, ids);
  };
  options.collect = [database] { return database->CollectTombstones(); };
  parts->commands =
      std::make_unique<Commands>(database, parts->replicator.get(), options);
  const Status status =
      Server::Start(settings.redis, parts->commands.get(), &parts->server);
  if (status.ok()) {
    spdlog::info("redis-cli -h {} -p {}", settings.redis.host,
                 parts->server->port());
  }
  return status;
}

// None, if none is asked for.
Status StartPage(const Settings& settings, Parts* parts) {
  if (settings.page_port < 0) return Status::OK();
  PageOptions options = settings.page;
  options.port = static_cast<uint16_t>(settings.page_port);
  PageSource source;
  source.name = NameOf(settings.directory);
  source.session_interval_ms = settings.sync_interval_ms;
  source.stats = [replicator = parts->replicator.get()] {
    return replicator->stats();
  };
  source.leaves = [database =
                       parts->database.get()](std::vector<uint32_t>* leaves) {
    return LeafFingerprints(database, leaves);
  };
  source.traffic = &parts->traffic;
  source.tombstone_wait = &parts->tombstone_wait;
  const Status status = PageServer::Start(options, source, &parts->page);
  if (status.ok()) {
    const bool is_ipv6 = options.host.find(':') != std::string::npos;
    spdlog::info("status page: http://{}:{}/",
                 is_ipv6 ? "[" + options.host + "]" : options.host,
                 parts->page->port());
  }
  return status;
}

void ServeUntilSignal(const sigset_t& signals, Parts* parts) {
  NotifyService("READY=1");
  ReplicationNews news;
  const timespec second{1, 0};
  while (sigtimedwait(&signals, nullptr, &second) < 0) {
    const ReplicationStats stats = parts->replicator->stats();
    news.Log(stats, parts->database->GetIndexStats());
    parts->traffic.Add(NowMs(), stats);
    parts->tombstone_wait.Add(NowMs(), stats.gc);
  }
}

Status Stop(Parts* parts) {
  spdlog::info("stopping");
  NotifyService("STOPPING=1");
  parts->page.reset();
  // Ends a REPLICATION SYNC, which the server waits for.
  parts->replicator->Stop();
  parts->server.reset();
  return parts->database->Close();
}

// Everything between the start and the signal that ends it. `*in_vain`: it is
// the same when it is tried again.
Status Run(const Settings& settings, const sigset_t& signals, bool* in_vain) {
  const SoftwareStats software = RunningSoftware();
  spdlog::info("rocksync-store {}, RocksDB {}, protocol {}", software.rocksync,
               software.rocksdb, software.protocol);
  AllowOpenFiles();
  WarnOfOpenFiles(settings);
  Status status = CheckAddresses(settings.replicator);
  if (!status.ok()) return status;
  Parts parts;
  std::shared_ptr<Transport> transport;
  status = Open(settings, &transport, &parts.database, in_vain);
  if (!status.ok()) return status;
  const ReplicaIdentity identity = parts.database->Identity();
  spdlog::info("replica {:016x} in {}", identity.replica_id,
               settings.directory);
  WarnThatItStaysItself(settings, identity);
  status = StartReplicator(settings, transport, &parts);
  if (status.ok()) status = StartServer(settings, &parts);
  if (!status.ok()) return status;
  parts.traffic.Add(NowMs(), parts.replicator->stats());
  status = StartPage(settings, &parts);
  if (!status.ok()) return status;
  ServeUntilSignal(signals, &parts);
  return Stop(&parts);
}

}  // namespace
}  // namespace rocksync

constexpr int kError = 1;
// Of an error that no restart makes go.
constexpr int kWrongOptions = 2;

namespace {

// False: the program ends with `*code`, help or what is wrong having been said.
bool ParseArguments(int argc, char** argv, rocksync::Settings* settings,
                    int* code) {
  CLI::App app(
      "A replicated key-value store on the Redis protocol. Exit code 0: "
      "stopped by SIGINT or SIGTERM, 1: error, 2: wrong options, or a database "
      "that these options do not open (a copy, for example)",
      "rocksync-store");
  app.formatter(std::make_shared<rocksync::HelpFormatter>());
  rocksync::AddOptions(&app, settings);
  const rocksync::SoftwareStats software = rocksync::RunningSoftware();
  app.set_version_flag("--version", "rocksync-store " + software.rocksync +
                                        "\nRocksDB " + software.rocksdb +
                                        "\nprotocol " +
                                        std::to_string(software.protocol));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Also where --help is asked for, which alone would succeed.
    const std::vector<std::string> unknown = app.remaining();
    if (unknown.empty()) {
      *code = app.exit(error);
    } else {
      std::cerr << "rocksync-store: there is no option '" << unknown.front()
                << "'; `rocksync-store --help` lists them\n";
      *code = kWrongOptions;
    }
    if (*code != 0) *code = kWrongOptions;
    if (!std::cout.flush()) {
      std::cerr << "rocksync-store: the output could not be written\n";
      *code = kError;
    }
    return false;
  }
  if (rocksync::HasIdentity(*settings)) return true;
  std::cerr << "rocksync-store: give --certificates, or all of --ca, "
               "--certificate, --private-key and --secret\n"
               "Run with --help for more information.\n";
  *code = kWrongOptions;
  return false;
}

// Before there are threads, so that none of them takes these signals. Returns
// those that end the program.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  // There is nothing to load again by hand: renewed certificates are noticed.
  std::signal(SIGHUP, SIG_IGN);
  // A limit of files' size (ulimit -f) is an error of the write, as a full disk
  // is, and not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  return signals;
}

}  // namespace

int main(int argc, char** argv) {
  rocksync::OpenStandardDescriptors("/dev/null");
  rocksync::Settings settings;
  int code = kError;
  if (!ParseArguments(argc, argv, &settings, &code)) return code;
  const sigset_t signals = BlockSignals();
  spdlog::set_formatter(rocksync::NewLogFormatter());
  bool in_vain = false;
  const rocksdb::Status status = rocksync::Run(settings, signals, &in_vain);
  if (status.ok()) return 0;
  spdlog::error("{}", status.ToString());
  // An address that is none, another cluster's database or secret: tried again
  // they are the same.
  return in_vain || status.IsInvalidArgument() ? kWrongOptions : kError;
}
