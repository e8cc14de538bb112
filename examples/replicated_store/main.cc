// A replicated key-value store that speaks the Redis protocol: a RocksDB
// database, a replicator that keeps it equal to its peers, and a port for
// redis-cli. Several of these, given each other's addresses, are a cluster.
//
//   replicated_store --dir a --redis-port 6401 --listen 127.0.0.1:7401
//                    --peer 127.0.0.1:7402 --certificates trial

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "examples/replicated_store/commands.h"
#include "examples/replicated_store/log_lines.h"
#include "examples/replicated_store/page_server.h"
#include "examples/replicated_store/secret.h"
#include "examples/replicated_store/server.h"
#include "examples/replicated_store/service_notify.h"
#include "examples/replicated_store/traffic_history.h"
#include "rocksdb/cache.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "rocksync/filter_policy.h"
#include "rocksync/leaf_fingerprints.h"
#include "rocksync/options.h"
#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"
#include "rocksync/tls_transport.h"
#include "rocksync/transport.h"
#include "rocksync/trial_certificates.h"
#include "spdlog/fmt/chrono.h"
#include "spdlog/fmt/fmt.h"
#include "spdlog/spdlog.h"
#include "tools/help/help_formatter.h"
#include "tools/secret/secret_file.h"

namespace rocksync {
namespace {

using rocksdb::Status;

struct Settings {
  std::string directory;
  std::string cluster = "trial";
  bool as_new_replica = false;
  bool sync_writes = false;
  bool no_stream = false;
  bool no_clones = false;
  uint64_t memory_mib = 64;

  ServerOptions redis;
  PageOptions page;
  int page_port = -1;  // no page
  ReplicatorOptions replicator;
  uint64_t sync_interval_ms = 1000;
  uint64_t peer_timeout_ms = 10'000;

  std::string trial_directory;
  TlsTransportOptions tls;
  std::string secret_file;
};

// Beyond it they need room on disk, for RocksDB's log, rather than memory.
constexpr size_t kMostWriteBuffer = size_t{256} << 20;

// Checks of options: what is wrong, or empty.
std::string IsNotEmpty(const std::string& text) {
  return text.empty() ? "must not be empty" : "";
}

std::string IsHost(const std::string& text) {
  // A name is resolved later; numbers that are none are told at once.
  in_addr ignored;
  const bool number =
      text.find_first_not_of("0123456789.") == std::string::npos;
  return number && inet_aton(text.c_str(), &ignored) == 0
             ? "'" + text + "' is no address"
             : "";
}

std::string IsHostName(const std::string& text) {
  const bool fits = !text.empty() &&
                    std::all_of(text.begin(), text.end(), [](unsigned char c) {
                      return std::isgraph(c) != 0 && c != '/';
                    });
  return fits ? "" : "'" + text + "' is no host name";
}

std::string IsPage(const std::string& text) {
  return IsPageAddress(text) ? "" : "'" + text + "' is no host:port of a page";
}

void AddOptions(CLI::App* app, Settings* settings) {
  app->add_option("--dir", settings->directory,
                  "Directory of the database; made if it is not there")
      ->required()
      ->check(IsNotEmpty);
  app->add_option("--cluster", settings->cluster,
                  "Name of the cluster; replicas of another are refused")
      ->capture_default_str();
  app->add_flag("--as-new-replica", settings->as_new_replica,
                "Let a copy of another replica's directory be a new replica");
  app->add_flag("--sync-writes", settings->sync_writes,
                "Sync every write to disk before acknowledging it");
  app->add_option("--memory-mib", settings->memory_mib,
                  "MiB for the block cache, and as much, at most 512, for "
                  "write buffers")
      ->capture_default_str()
      ->check(CLI::Range(4, 1 << 20));

  app->add_option(
         "--redis-host", settings->redis.host,
         "IP address of the Redis port, which does not authenticate clients")
      ->capture_default_str()
      ->group("Redis protocol");
  app->add_option("--redis-port", settings->redis.port,
                  "Port of the Redis protocol; 0: any")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535))
      ->group("Redis protocol");

  CLI::Option* const page =
      app->add_option(
             "--http-port", settings->page_port,
             "Port of the status page and of /metrics; 0: any. Without "
             "it there is none")
          ->check(CLI::Range(0, 65535))
          ->group("Status page");
  app->add_option(
         "--http-host", settings->page.host,
         "Address of the status page, which does not authenticate clients")
      ->capture_default_str()
      ->check(IsHost)
      ->group("Status page");
  app->add_option("--http-name", settings->page.names,
                  "A name of this host under which browsers may ask for the "
                  "page, beside localhost; once for each")
      ->needs(page)
      ->check(IsHostName)
      ->group("Status page");
  app->add_option("--http-peer", settings->page.peers,
                  "host:port of another replica's status page, to be shown on "
                  "this one; once for each")
      ->needs(page)
      ->check(IsPage)
      ->group("Status page");

  app->add_option("--listen", settings->replicator.listen_address,
                  "host:port where peers connect; without it, only dial")
      ->group("Replication");
  app->add_option("--peer", settings->replicator.peers,
                  "host:port of a peer; may be repeated")
      ->group("Replication");
  app->add_option("--sync-interval-ms", settings->sync_interval_ms,
                  "A session with each peer about this often; 0: only by "
                  "REPLICATION SYNC")
      ->capture_default_str()
      ->check(CLI::Range(0, 86'400'000))
      ->group("Replication");

  app->add_flag("--no-stream", settings->no_stream,
                "Sessions only: writes are at peers after an interval, and not "
                "at once")
      ->group("Replication");
  app->add_flag("--no-clones", settings->no_clones,
                "Refuse `rocksync clone` from this replica, which otherwise "
                "takes a certificate of the CA and the secret")
      ->group("Replication");
  app->add_option("--zone", settings->replicator.zone,
                  "Name of where this replica is; between two zones each write "
                  "crosses once")
      ->group("Replication");

  app->add_option("--peer-timeout-ms", settings->peer_timeout_ms,
                  "Drop a peer that is silent for this long")
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400'000))
      ->group("Replication");

  auto* trial =
      app->add_option("--certificates", settings->trial_directory,
                      "For trials: directory of a CA, certificates and a "
                      "secret, made as needed; the same for all replicas")
          ->group("Identity");
  auto* ca = app->add_option("--ca", settings->tls.ca_file,
                             "PEM file of the cluster's CA")
                 ->group("Identity")
                 ->excludes(trial);
  app->add_option("--certificate", settings->tls.certificate_file,
                  "PEM file of this replica's certificate")
      ->group("Identity")
      ->needs(ca);
  app->add_option("--private-key", settings->tls.private_key_file,
                  "PEM file of its key")
      ->group("Identity")
      ->needs(ca);
  app->add_option("--secret", settings->secret_file,
                  "File of the cluster's secret, 32 random bytes")
      ->group("Identity")
      ->needs(ca);
}

// Before a database is made that belongs to this cluster. Port 0, any, is for
// who listens alone.
Status CheckAddresses(const ReplicatorOptions& options) {
  std::vector<std::string> addresses = options.peers;
  const std::string& listen = options.listen_address;
  if (!listen.empty() && !listen.ends_with(":0")) addresses.push_back(listen);
  for (const std::string& address : addresses) {
    const Status status = CheckHostPort(address);
    if (!status.ok()) return status;
  }
  return Status::OK();
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

Status OpenDatabase(const Settings& settings,
                    std::unique_ptr<ReplicatedDB>* database) {
  ReplicatedDBOptions replication;
  Status status =
      settings.trial_directory.empty()
          ? ReadSecretFile(settings.secret_file, &replication.cluster_secret)
          : MakeTrialSecret(settings.trial_directory,
                            &replication.cluster_secret);
  if (!status.ok()) return status;
  const size_t memory = static_cast<size_t>(settings.memory_mib) << 20;
  replication.cluster_name = settings.cluster;
  replication.open_copy_as_new_replica = settings.as_new_replica;
  replication.index_filter_policy = NewFilterPolicy(10);
  replication.index_write_buffer_bytes = std::min(memory / 2, kMostWriteBuffer);

  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = NewFilterPolicy(10);
  table.block_cache = rocksdb::NewLRUCache(memory);
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = std::min(memory / 2, kMostWriteBuffer);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  ReplicatedDB* opened = nullptr;
  status =
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
  return NewTlsTransport(tls, transport);
}

void LogSession(const SessionProgress& session) {
  if (!session.finished) return;
  if (session.pairs_sent + session.pairs_received > 0) {
    spdlog::info(
        "session with {}: {} pairs sent, {} received, {} bytes of protocol, "
        "{}",
        session.peer, session.pairs_sent, session.pairs_received,
        session.bytes_total - session.bytes_keys - session.bytes_values,
        session.proven_equal ? "proven equal" : "not yet equal");
  } else {
    spdlog::debug("session with {}: {}", session.peer,
                  session.proven_equal ? "proven equal" : "not yet equal");
  }
}

// Logs what went wrong with a peer when it is something new, also where no
// session came about, and when it is over.
class PeerErrors {
 public:
  void Log(const ReplicationStats& stats) {
    for (const PeerStats& peer : stats.peers) {
      std::string& known = known_[peer.address];
      if (peer.last_error == known) continue;
      known = peer.last_error;
      if (known.empty()) {
        spdlog::info("peer {} answers again", PeerName(peer));
      } else {
        spdlog::warn("peer {}: {}", PeerName(peer), known);
      }
    }
  }

 private:
  // The address of one that dialed says little: its port was any.
  static std::string PeerName(const PeerStats& peer) {
    return peer.replica_id == 0
               ? peer.address
               : fmt::format("{:016x} at {}", peer.replica_id, peer.address);
  }

  std::map<std::string, std::string> known_;  // by address
};

// Logs which replica was turned away and why, once for as long as no other is:
// it may come again and again.
class RefusedCallers {
 public:
  void Log(const ReplicationStats& stats) {
    // Without the port that it came from, which is another each time.
    const size_t from = stats.last_refusal.find(" at ");
    if (from == std::string::npos) return;
    const size_t why = stats.last_refusal.find(": ", from);
    const std::string refusal =
        stats.last_refusal.substr(0, from) + stats.last_refusal.substr(why);
    if (std::exchange(known_, refusal) == refusal) return;
    spdlog::warn("refused {}", stats.last_refusal);
  }

 private:
  std::string known_;
};

// Logs that renewed certificates are in use, or that the files do not fit.
class CertificateNews {
 public:
  void Log(const ReplicationStats& stats) {
    if (stats.certificate_error != error_) {
      error_ = stats.certificate_error;
      if (!error_.empty()) {
        spdlog::warn(
            "the certificate files were changed and are not used; the earlier "
            "ones stay in use, and expire on {}: {}",
            UtcText(stats.certificate_expires_ms), error_);
      }
    }
    if (stats.certificate_renewals == renewals_) return;
    renewals_ = stats.certificate_renewals;
    spdlog::info("renewed certificate files are in use; they expire on {}",
                 UtcText(stats.certificate_expires_ms));
  }

 private:
  static std::string UtcText(uint64_t unix_ms) {
    return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC",
                       fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)));
  }

  std::string error_;
  uint64_t renewals_ = 0;
};

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

// Everything between the start and the signal that ends it. The parts go in
// the opposite order. `*in_vain`: it is the same when it is tried again.
Status Run(Settings settings, const sigset_t& signals, bool* in_vain) {
  for (const std::string& file :
       {settings.tls.private_key_file, settings.secret_file}) {
    if (!IsOpenToAll(file)) continue;
    spdlog::warn("every user of this machine may read {}; chmod o= {}", file,
                 file);
  }
  Status status = CheckAddresses(settings.replicator);
  if (!status.ok()) return status;
  std::unique_ptr<ReplicatedDB> database;
  status = OpenDatabase(settings, &database);
  // A copy, an unfinished clone, a lost index.
  *in_vain = status.IsAborted() || status.IsCorruption();
  if (!status.ok()) return status;
  const uint64_t replica_id = database->Identity().replica_id;
  spdlog::info("replica {:016x} in {}", replica_id, settings.directory);
  WarnThatItStaysItself(settings, database->Identity());

  std::shared_ptr<Transport> transport;
  status = MakeTransport(settings, replica_id, &transport);
  if (!status.ok()) return status;

  settings.replicator.interval =
      std::chrono::milliseconds(settings.sync_interval_ms);
  settings.replicator.io_timeout =
      std::chrono::milliseconds(settings.peer_timeout_ms);
  settings.replicator.stream = !settings.no_stream;
  settings.replicator.allow_clones = !settings.no_clones;
  settings.replicator.progress = LogSession;
  std::unique_ptr<Replicator> replicator;
  status = Replicator::Start(settings.replicator, database.get(), transport,
                             &replicator);
  if (!status.ok()) return status;
  if (!replicator->listen_address().empty()) {
    spdlog::info("peers connect to {}", replicator->listen_address());
  }

  CommandOptions command_options;
  command_options.sync_writes = settings.sync_writes;
  command_options.peers = settings.replicator.peers;
  command_options.set_members = [&database](uint64_t epoch,
                                            const std::vector<uint64_t>& ids) {
    return database->SetMembers(epoch, ids);
  };
  command_options.collect = [&database] {
    return database->CollectTombstones();
  };
  Commands commands(database.get(), replicator.get(), command_options);
  std::unique_ptr<Server> server;
  status = Server::Start(settings.redis, &commands, &server);
  if (!status.ok()) return status;
  spdlog::info("redis-cli -h {} -p {}", settings.redis.host, server->port());

  TrafficHistory traffic;
  traffic.Add(NowMs(), replicator->stats());
  std::unique_ptr<PageServer> page;
  if (settings.page_port >= 0) {
    settings.page.port = static_cast<uint16_t>(settings.page_port);
    PageSource source;
    source.name = NameOf(settings.directory);
    source.stats = [&replicator] { return replicator->stats(); };
    source.leaves = [&database](std::vector<uint32_t>* leaves) {
      return LeafFingerprints(database.get(), leaves);
    };
    source.traffic = &traffic;
    status = PageServer::Start(settings.page, source, &page);
    if (!status.ok()) return status;
    spdlog::info("status page: http://{}:{}/", settings.page.host,
                 page->port());
  }

  NotifyService("READY=1");
  PeerErrors errors;
  RefusedCallers refused;
  CertificateNews certificates;
  const timespec second{1, 0};
  while (sigtimedwait(&signals, nullptr, &second) < 0) {
    const ReplicationStats stats = replicator->stats();
    errors.Log(stats);
    refused.Log(stats);
    certificates.Log(stats);
    traffic.Add(NowMs(), stats);
  }
  spdlog::info("stopping");
  NotifyService("STOPPING=1");
  page.reset();
  replicator->Stop();  // ends a REPLICATION SYNC, which the server waits for
  server.reset();
  return database->Close();
}

}  // namespace
}  // namespace rocksync

constexpr int kError = 1;
// Of an error that no restart makes go.
constexpr int kWrongOptions = 2;

int main(int argc, char** argv) {
  CLI::App app(
      "A replicated key-value store on the Redis protocol. Exit code 0: "
      "stopped by SIGINT or SIGTERM, 1: error, 2: wrong options, or a database "
      "that these options do not open (a copy, for example)",
      "rocksync-store");
  app.formatter(std::make_shared<rocksync::HelpFormatter>());
  rocksync::Settings settings;
  rocksync::AddOptions(&app, &settings);
  app.set_version_flag("--version", "rocksync-store " ROCKSYNC_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Also where --help is asked for, which alone would succeed.
    const std::vector<std::string> unknown = app.remaining();
    const int code =
        unknown.empty() ? app.exit(error) : app.exit(CLI::ExtrasError(unknown));
    if (!std::cout.flush()) {
      std::cerr << "rocksync-store: the output could not be written\n";
      return kError;
    }
    return code == 0 ? 0 : kWrongOptions;
  }
  if (settings.trial_directory.empty() &&
      (settings.tls.certificate_file.empty() ||
       settings.tls.private_key_file.empty() || settings.secret_file.empty())) {
    app.exit(CLI::RequiredError(
        "--certificates, or --ca, --certificate, --private-key and --secret"));
    return kWrongOptions;
  }

  // Before there are threads, so that none of them takes these signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  // A limit of files' size (ulimit -f) is an error of the write, as a full disk
  // is, and not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);

  spdlog::set_formatter(rocksync::NewLogFormatter());
  bool in_vain = false;
  const rocksdb::Status status = rocksync::Run(settings, signals, &in_vain);
  if (status.ok()) return 0;
  spdlog::error("{}", status.ToString());
  // An address that is none, another cluster's database or secret, a
  // certificate that does not fit: tried again they are the same.
  return in_vain || status.IsInvalidArgument() ? kWrongOptions : kError;
}
