// Keeps a replicated database equal to its peers: sessions in the background,
// at an interval, over a transport.

#ifndef ROCKSYNC_REPLICATOR_H_
#define ROCKSYNC_REPLICATOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/status.h"
#include "rocksync/replicated_db.h"
#include "rocksync/stats.h"
#include "rocksync/transport.h"

namespace rocksync {

struct ReplicatorOptions {
  // Addresses of the peers, in the transport's notation.
  std::vector<std::string> peers;

  // Where to listen, e.g. "127.0.0.1:7400"; empty: only dial.
  std::string listen_address;

  // A session with each peer about this often, +-25 % jitter. Zero: only when
  // SyncNow is called.
  std::chrono::milliseconds interval{10'000};

  // A silent peer is dropped after this long.
  std::chrono::milliseconds io_timeout{30'000};

  // False positive rate of the Bloom filters of an exchange in mode
  // `kBloomOnly`, in (0, 1). The paper's choice is 0.5.
  double false_positive_rate = 0.5;
  enum class Mode { kAdaptive, kBloomOnly };
  Mode mode = Mode::kAdaptive;
  // What to spare where one must be chosen.
  enum class Prefer { kBytes, kRoundTrips };
  Prefer prefer = Prefer::kBytes;

  // Memory that one session may hold on this side, in bytes.
  size_t max_session_bytes = size_t{64} << 20;

  // Called on a background thread while a session runs (at most about ten
  // times a second) and when it ends. Must not call back into the replicator's
  // Stop.
  std::function<void(const SessionProgress&)> progress;
};

// Thread-safe. Owns its threads; the database and the transport must outlive
// it. A failed session is logged to the database's info_log, shown in stats()
// and tried again at the next interval; it never stops the replicator.
class Replicator {
 public:
  // Starts listening and syncing. InvalidArgument names a wrong option;
  // IOError a port that is taken.
  static rocksdb::Status Start(const ReplicatorOptions& options,
                               ReplicatedDB* db,
                               std::shared_ptr<Transport> transport,
                               std::unique_ptr<Replicator>* replicator);

  // Stops within a second, even in the middle of a session or while RocksDB
  // stalls writes.
  virtual ~Replicator() = default;

  // Runs sessions with `peer` (an address of the options, or any other) until
  // one proves the two replicas equal or one fails. Blocks. OK means: proven
  // equal as of the moment the last session began, writes during it excluded.
  // Busy: the peer was in sessions with others all the time. Aborted: stopped.
  virtual rocksdb::Status SyncNow(const std::string& peer) = 0;

  // While paused no new session begins here, and peers are told to come back
  // later. A running one goes on.
  virtual void Pause() = 0;
  virtual void Resume() = 0;

  virtual ReplicationStats stats() const = 0;

  // The address listened on; empty if not listening.
  virtual std::string listen_address() const = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATOR_H_
