#include "replication/replicator/start_checks.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "replication/session/session.h"
#include "replication/stream/stream_messages.h"
#include "rocksync/max_duration.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

using std::chrono::milliseconds;

constexpr size_t kLeastStreamBuffer = size_t{64} << 10;

rocksdb::Status CheckDuration(const char* option, milliseconds value,
                              milliseconds least) {
  if (value >= least && value <= kMaxDuration) return rocksdb::Status::OK();
  return rocksdb::Status::InvalidArgument(
      std::string("ReplicatorOptions::") + option + " is " +
          std::to_string(value.count()) + " ms",
      "choose " + std::to_string(least.count()) + " to " +
          std::to_string(kMaxDuration.count()) + " ms (a year)");
}

rocksdb::Status CheckDurations(const ReplicatorOptions& options) {
  constexpr milliseconds kNever(0);
  rocksdb::Status s = CheckDuration("interval", options.interval, kNever);
  if (s.ok()) {
    s = CheckDuration("scrub_interval", options.scrub_interval, kNever);
  }
  if (s.ok()) {
    s = CheckDuration("io_timeout", options.io_timeout, milliseconds(1));
  }
  return s;
}

rocksdb::Status CheckOptions(const ReplicatorOptions& options) {
  const auto wrong = [](const char* what) {
    return rocksdb::Status::InvalidArgument(std::string("ReplicatorOptions::") +
                                            what);
  };
  if (rocksdb::Status s = CheckDurations(options); !s.ok()) return s;
  constexpr double kLeastRate = 1.0 / 65536;  // the least a message can encode
  // A filter that hides more than half of the differences in each round does
  // not end within the rounds of a session.
  if (!(options.false_positive_rate >= kLeastRate &&
        options.false_positive_rate <= 0.5)) {
    return wrong("false_positive_rate must be in [1/65536, 1/2]");
  }
  if (options.max_session_bytes < kLeastSessionBytes) {
    return wrong("max_session_bytes must be at least 4 MiB");
  }
  if (options.stream_buffer_bytes < kLeastStreamBuffer) {
    return wrong("stream_buffer_bytes must be at least 64 KiB");
  }
  if (options.zone.size() > kMaxZoneBytes) {
    return wrong("zone has more than 64 bytes");
  }
  if (options.max_accepted == 0) return wrong("max_accepted must be above 0");
  if (options.limits.max_sessions == 0) {
    return wrong("limits.max_sessions must be above 0");
  }
  return rocksdb::Status::OK();
}

rocksdb::Status CheckTransport(const Transport& transport,
                               const ReplicatedDB& db) {
  const uint64_t shown = transport.replica_id();
  const uint64_t ours = db.Identity().replica_id;
  if (shown == 0 || shown == ours) return rocksdb::Status::OK();
  return rocksdb::Status::InvalidArgument(
      "the transport's certificate is of another replica",
      "it names replica " + ReplicaIdHex(shown) + ", the database is replica " +
          ReplicaIdHex(ours) +
          ": give it the database's own certificate (`rocksync certificate "
          "--ca ca.pem --ca-key ca.key --output NAME --id " +
          ReplicaIdHex(ours) +
          "`), or open the database of the certificate, whose disk may not be "
          "mounted; where several databases share one certificate, each gets "
          "its id when it is made (ReplicatedDBOptions::new_replica_id, or a "
          "clone), and one that became another replica since needs a "
          "certificate and a listen_address of its own");
}

}  // namespace

rocksdb::Status CheckPeers(const char* whose,
                           const std::vector<std::string>& peers,
                           const Transport& transport) {
  for (const std::string& peer : peers) {
    const rocksdb::Status s = transport.CheckAddress(peer);
    if (!s.ok()) return rocksdb::Status::InvalidArgument(whose, s.getState());
  }
  return rocksdb::Status::OK();
}

rocksdb::Status CheckBeforeStart(const ReplicatorOptions& options,
                                 const ReplicatedDB& db,
                                 const Transport& transport) {
  rocksdb::Status s = CheckOptions(options);
  if (s.ok())
    s = CheckPeers("ReplicatorOptions::peers", options.peers, transport);
  if (s.ok()) s = CheckTransport(transport, db);
  return s;
}

}  // namespace rocksync
