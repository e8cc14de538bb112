// What the store logs of replication: what is new since it looked last.

#ifndef EXAMPLES_REPLICATED_STORE_REPLICATION_NEWS_H_
#define EXAMPLES_REPLICATED_STORE_REPLICATION_NEWS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "rocksdb/status.h"
#include "rocksync/replicated_db.h"
#include "rocksync/stats.h"

namespace rocksync {

// For ReplicatorOptions::progress: a line for each session that moved pairs.
// While sessions with a peer end unequal for the same reason, one a minute, or
// pairs that are held back would fill the log. Thread-safe.
class SessionNews {
 public:
  using Clock = std::chrono::steady_clock;

  void Log(const SessionProgress& session,
           Clock::time_point now = Clock::now());

 private:
  static constexpr std::chrono::minutes kBetween{1};
  static constexpr size_t kMaxPeers = 256;

  struct Unequal {
    std::string why;  // without numbers
    Clock::time_point logged;
  };

  bool IsNews(const SessionProgress& session, Clock::time_point now);

  std::mutex mutex_;
  std::map<std::string, Unequal> unequal_;  // by peer
};

// For TlsTransportOptions::refused: a line, at most one each ten seconds.
std::function<void(const rocksdb::Status&)> LogRefusedCertificates();

// That RocksDB dropped so many batches of a damaged log when it was opened.
// Right after the opening: the next one would not know any more.
void LogDroppedBatches(uint64_t dropped);

// Not thread-safe.
class ReplicationNews {
 public:
  void Log(const ReplicationStats& stats, const IndexStats& index);

 private:
  // What went wrong with a peer when it is something new, also where no session
  // came about, and when it is over.
  void LogPeerErrors(const ReplicationStats& stats);
  // Which replica was turned away and why, once for as long as no other is: it
  // may come again and again.
  void LogRefusedCallers(const ReplicationStats& stats);
  // That renewed certificates are in use, or that the files cannot be used.
  void LogCertificates(const ReplicationStats& stats);
  // That writes are refused, since the disk is full, and that they go on.
  void LogDiskSpace(const ReplicationStats& stats);
  // That a scrub found corruption, or cannot read all.
  void LogScrub(const ScrubStats& scrub);
  // That pairs of a replica are held back, and that they are no longer.
  void LogHeldBack(const IndexStats& index);

  std::map<std::string, std::string> peer_errors_;  // by address
  std::string refusal_;
  std::string certificate_error_;
  uint64_t certificate_renewals_ = 0;
  bool writes_refused_ = false;
  std::string write_error_;
  uint64_t corruption_found_ = 0;
  std::string scrub_error_;
  uint64_t held_back_replica_ = 0;
};

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_REPLICATION_NEWS_H_
