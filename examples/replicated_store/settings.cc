#include "examples/replicated_store/settings.h"

#include <arpa/inet.h>

namespace rocksync {
namespace {

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
  return IsPageHost(text) ? ""
                          : "'" + text +
                                "' is no host name (without a port; there is "
                                "no pattern for all)";
}

std::string IsPage(const std::string& text) {
  return IsPageAddress(text) ? "" : "'" + text + "' is no host:port of a page";
}

void AddDatabaseOptions(CLI::App* app, Settings* settings) {
  app->add_option(
         "--dir", settings->directory,
         "Directory of the database; with --certificates it is made if it "
         "does not exist, else `rocksync id --make DIR` makes it")
      ->required()
      ->type_name("DIR");
  app->add_option("--cluster", settings->cluster,
                  "Name of the cluster; replicas of another are refused")
      ->capture_default_str()
      ->type_name("NAME");
  app->add_flag("--as-new-replica", settings->as_new_replica,
                "Open a copy of another replica's directory, or what is left "
                "after a loss of files, as a new replica");
  app->add_flag("--adopt-after-index-loss", settings->adopt_after_index_loss,
                "Make a new index after it was lost: a new replica, whose "
                "pairs lose to any version that a peer has");
  app->add_flag("--sync-writes", settings->sync_writes,
                "Sync every write to disk before acknowledging it. Of a disk "
                "that damages the log: \"A log that is damaged\" in "
                "operating.md");
  app->add_option("--min-free-mib", settings->min_free_mib,
                  "MiB of the disk that stay free: writes are refused before; "
                  "0: none")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 30));
  app->add_option("--memory-mib", settings->memory_mib,
                  "MiB for the block cache, and the same again (at most 512) "
                  "for write buffers")
      ->capture_default_str()
      ->check(CLI::Range(4, 1 << 20));
}

void AddRedisOptions(CLI::App* app, Settings* settings) {
  app->add_option(
         "--redis-host", settings->redis.host,
         "IP address of the Redis port, which does not authenticate clients")
      ->capture_default_str()
      ->group("Redis protocol")
      ->type_name("ADDRESS");
  app->add_option("--redis-port", settings->redis.port,
                  "Port of the Redis protocol; 0: any")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535))
      ->group("Redis protocol");
}

void AddPageOptions(CLI::App* app, Settings* settings) {
  CLI::Option* const page =
      app->add_option(
             "--http-port", settings->page_port,
             "Port of the status page and of /metrics; 0: any. Without "
             "this option there is no page")
          ->check(CLI::Range(0, 65535))
          ->group("Status page");
  app->add_option(
         "--http-host", settings->page.host,
         "Address of the status page, which does not authenticate clients")
      ->needs(page)
      ->capture_default_str()
      ->check(IsHost)
      ->group("Status page")
      ->type_name("ADDRESS");
  app->add_option("--http-name", settings->page.names,
                  "A name of this host under which browsers may ask for the "
                  "page, besides localhost; may be repeated")
      ->needs(page)
      ->check(IsHostName)
      ->group("Status page")
      ->type_name("NAME");
  app->add_option("--http-peer", settings->page.peers,
                  "host:port of another replica's status page, to be shown on "
                  "this one; may be repeated")
      ->needs(page)
      ->check(IsPage)
      ->group("Status page")
      ->type_name("HOST:PORT");
}

void AddReplicationOptions(CLI::App* app, Settings* settings) {
  app->add_option("--listen", settings->replicator.listen_address,
                  "host:port where peers connect; without it, only dial")
      ->group("Replication")
      ->type_name("HOST:PORT");
  app->add_option("--peer", settings->replicator.peers,
                  "host:port of a peer; may be repeated")
      ->group("Replication")
      ->type_name("HOST:PORT");
  app->add_option("--sync-interval-ms", settings->sync_interval_ms,
                  "A session with each peer about this often; 0: only by "
                  "REPLICATION SYNC")
      ->capture_default_str()
      ->check(CLI::Range(0, 86'400'000))
      ->group("Replication");
  app->add_option("--max-peers-per-interval",
                  settings->replicator.max_peers_per_interval,
                  "With more peers than this, sessions with so many of them "
                  "in each interval, in turns; 0: all")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(size_t{0}, size_t{1} << 20))
      ->group("Replication");

  app->add_flag("--no-stream", settings->no_stream,
                "Sessions only: writes reach peers after an interval, and not "
                "at once")
      ->group("Replication");
  app->add_option("--max-stream-peers", settings->replicator.max_stream_peers,
                  "With more peers than this, streams to so many of them, "
                  "which pass changes on; 0: to all")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(size_t{0}, size_t{1} << 20))
      ->group("Replication");
  app->add_option("--max-sessions", settings->replicator.limits.max_sessions,
                  "Sessions at once. More than 1: a slow peer keeps no other "
                  "one out, and pairs that several have may come from each")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, size_t{1024}))
      ->group("Replication");
  app->add_option("--max-accepted", settings->replicator.max_accepted,
                  "Connections of peers and tools to --listen; one more is "
                  "refused")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, size_t{1} << 20))
      ->group("Replication");
  app->add_flag("--no-clones", settings->no_clones,
                "Refuse `rocksync clone` from this replica. Without this, a "
                "certificate of the CA and the secret are enough for it")
      ->group("Replication");
  app->add_option("--zone", settings->replicator.zone,
                  "Name of the place where this replica is; each write is "
                  "sent once between two zones")
      ->group("Replication")
      ->type_name("NAME");

  app->add_option("--peer-timeout-ms", settings->peer_timeout_ms,
                  "Drop a peer that is silent for this long")
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400'000))
      ->group("Replication");
}

void AddScrubOptions(CLI::App* app, Settings* settings) {
  app->add_option("--scrub-interval-hours", settings->scrub_interval_hours,
                  "Compare all values with the index this often; 0: only by "
                  "REPLICATION SCRUB")
      ->capture_default_str()
      ->check(CLI::Range(0, 24 * 365))
      ->group("Scrub");
  app->add_option("--scrub-mib-per-second", settings->scrub_mib_per_second,
                  "MiB that a scrub reads per second; 0: no limit")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 20))
      ->group("Scrub");
}

void AddIdentityOptions(CLI::App* app, Settings* settings) {
  auto* trial =
      app->add_option("--certificates", settings->trial_directory,
                      "For trials: directory of a CA, certificates and a "
                      "secret, which are made as needed; give all replicas "
                      "the same")
          ->group("Identity")
          ->type_name("DIR");
  auto* ca = app->add_option("--ca", settings->tls.ca_file,
                             "PEM file of the cluster's CA")
                 ->group("Identity")
                 ->excludes(trial)
                 ->type_name("FILE");
  app->add_option("--certificate", settings->tls.certificate_file,
                  "PEM file of this replica's certificate")
      ->group("Identity")
      ->needs(ca)
      ->type_name("FILE");
  app->add_option("--private-key", settings->tls.private_key_file,
                  "PEM file of its key")
      ->group("Identity")
      ->needs(ca)
      ->type_name("FILE");
  app->add_option("--secret", settings->secret_file,
                  "File of the cluster's secret, 32 random bytes")
      ->group("Identity")
      ->needs(ca)
      ->type_name("FILE");
}

}  // namespace

void AddOptions(CLI::App* app, Settings* settings) {
  AddDatabaseOptions(app, settings);
  AddRedisOptions(app, settings);
  AddPageOptions(app, settings);
  AddReplicationOptions(app, settings);
  AddScrubOptions(app, settings);
  AddIdentityOptions(app, settings);
  // Of a variable that is not set, mostly. Of zones "" is one.
  for (CLI::Option* option : app->get_options()) {
    const bool takes_value = option->get_items_expected_max() > 0;
    if (takes_value && option->get_name() != "--zone") {
      option->check(IsNotEmpty);
    }
  }
}

bool HasIdentity(const Settings& settings) {
  return !settings.trial_directory.empty() ||
         (!settings.tls.certificate_file.empty() &&
          !settings.tls.private_key_file.empty() &&
          !settings.secret_file.empty());
}

}  // namespace rocksync
