#include "examples/replicated_store/replication_news.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "spdlog/fmt/chrono.h"
#include "spdlog/fmt/fmt.h"
#include "spdlog/spdlog.h"

namespace rocksync {
namespace {

// The address of one that dialed says little: its port was any.
std::string PeerName(const PeerStats& peer) {
  return peer.replica_id == 0
             ? peer.address
             : fmt::format("{:016x} at {}", peer.replica_id, peer.address);
}

std::string UtcText(uint64_t unix_ms) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC",
                     fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)));
}

}  // namespace

bool SessionNews::IsNews(const SessionProgress& session,
                         Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (session.proven_equal) {
    unequal_.erase(session.peer);
    return true;
  }
  std::string why = session.error;
  std::erase_if(why, [](char c) { return c >= '0' && c <= '9'; });
  const auto known = unequal_.find(session.peer);
  if (known != unequal_.end() && known->second.why == why &&
      now - known->second.logged < kBetween) {
    return false;
  }
  if (known == unequal_.end() && unequal_.size() >= kMaxPeers) {
    unequal_.erase(std::min_element(unequal_.begin(), unequal_.end(),
                                    [](const auto& a, const auto& b) {
                                      return a.second.logged < b.second.logged;
                                    }));
  }
  unequal_[session.peer] = {std::move(why), now};
  return true;
}

void SessionNews::Log(const SessionProgress& session, Clock::time_point now) {
  if (!session.finished) return;
  if (session.pairs_sent + session.pairs_received > 0) {
    if (!IsNews(session, now)) return;
    spdlog::info(
        "session with {}: {} {} sent, {} received, {} applied, {} bytes of "
        "protocol, {}",
        session.peer, session.pairs_sent,
        session.pairs_sent == 1 ? "pair" : "pairs", session.pairs_received,
        session.pairs_applied,
        session.bytes_total - session.bytes_keys - session.bytes_values,
        session.proven_equal ? "proven equal" : "not yet equal");
  } else {
    spdlog::debug("session with {}: {}", session.peer,
                  session.proven_equal ? "proven equal" : "not yet equal");
  }
}

// On the one thread of the transport.
std::function<void(const rocksdb::Status&)> LogRefusedCertificates() {
  using Clock = std::chrono::steady_clock;
  return [logged = Clock::time_point()](const rocksdb::Status& why) mutable {
    constexpr std::chrono::seconds kBetween{10};
    if (Clock::now() - logged < kBetween) return;
    logged = Clock::now();
    spdlog::warn("refused connection: {}", why.ToString());
  };
}

void ReplicationNews::Log(const ReplicationStats& stats,
                          const IndexStats& index) {
  LogPeerErrors(stats);
  LogRefusedCallers(stats);
  LogCertificates(stats);
  LogDiskSpace(stats);
  LogScrub(stats.scrub);
  LogHeldBack(index);
}

void ReplicationNews::LogPeerErrors(const ReplicationStats& stats) {
  for (const PeerStats& peer : stats.peers) {
    std::string& known = peer_errors_[peer.address];
    // Without how far it is, which is another each time.
    const std::string error = peer.waits_for_index_build
                                  ? "waits for an index build"
                                  : peer.last_error;
    if (error == known) continue;
    known = error;
    if (known.empty()) {
      spdlog::info("peer {} answers again", PeerName(peer));
    } else if (peer.waits_for_index_build) {
      spdlog::info("peer {}: no session yet, {}", PeerName(peer),
                   peer.last_error);
    } else {
      spdlog::warn("peer {}: {}", PeerName(peer), known);
    }
  }
}

void ReplicationNews::LogRefusedCallers(const ReplicationStats& stats) {
  // Without the port that it came from, which is another each time.
  const size_t from = stats.last_refusal.find(" at ");
  if (from == std::string::npos) return;
  const size_t why = stats.last_refusal.find(": ", from);
  const std::string refusal =
      stats.last_refusal.substr(0, from) + stats.last_refusal.substr(why);
  if (std::exchange(refusal_, refusal) == refusal) return;
  spdlog::warn("refused {}", stats.last_refusal);
}

void ReplicationNews::LogCertificates(const ReplicationStats& stats) {
  if (stats.certificate_error != certificate_error_) {
    certificate_error_ = stats.certificate_error;
    if (!certificate_error_.empty()) {
      spdlog::warn(
          "the certificate files were changed and are not used; the earlier "
          "ones stay in use, and expire on {}: {}",
          UtcText(stats.certificate_expires_ms), certificate_error_);
    }
  }
  if (stats.certificate_renewals == certificate_renewals_) return;
  certificate_renewals_ = stats.certificate_renewals;
  spdlog::info("renewed certificate files are in use; {} expires on {}",
               stats.certificate_first_to_expire,
               UtcText(stats.certificate_expires_ms));
}

void ReplicationNews::LogDiskSpace(const ReplicationStats& stats) {
  const DiskSpaceStats& disk = stats.disk;
  if (std::exchange(write_error_, disk.write_error) != disk.write_error) {
    if (disk.write_error.empty()) {
      spdlog::info("RocksDB has recovered, writes go on");
    } else {
      spdlog::error("RocksDB takes no writes: {}", disk.write_error);
    }
  }
  if (std::exchange(writes_refused_, disk.writes_refused) ==
      disk.writes_refused) {
    return;
  }
  if (disk.writes_refused) {
    spdlog::warn(
        "writes are refused: the disk has {} bytes free, and {} and what "
        "memtables will take are kept free; make room, then writes go on by "
        "themselves",
        disk.free_bytes, disk.min_free_bytes);
  } else {
    spdlog::info("there is room on the disk again, writes go on");
  }
}

void ReplicationNews::LogScrub(const ScrubStats& scrub) {
  const uint64_t known =
      std::exchange(corruption_found_, scrub.corruption_found);
  if (scrub.corruption_found > known) {
    const uint64_t found = scrub.corruption_found - known;
    spdlog::warn(
        "the scrub found {} {} not what was written; the next sessions bring "
        "what peers have",
        found, found == 1 ? "pair that is" : "pairs that are");
  }
  if (!scrub.last_error.empty()) {
    if (std::exchange(scrub_error_, scrub.last_error) != scrub.last_error) {
      spdlog::warn("scrub: {}", scrub.last_error);
    }
  } else if (!scrub.running && !scrub_error_.empty()) {
    // Not between two tries, nor before the end of a pass.
    scrub_error_.clear();
    spdlog::info("the scrub has read all");
  }
}

void LogDroppedBatches(uint64_t dropped) {
  if (dropped == 0) return;
  spdlog::warn(
      "the log of the database was damaged when it was opened, now or before: "
      "{} {} behind the damage {} dropped; what this replica alone held of "
      "them is lost, the rest comes back from peers, unless they refuse this "
      "replica; after a loss of power writes that were not synced look the "
      "same",
      dropped, dropped == 1 ? "batch" : "batches",
      dropped == 1 ? "was" : "were");
}

void ReplicationNews::LogHeldBack(const IndexStats& index) {
  const uint64_t replica = index.held_back_replica;
  const uint64_t before = std::exchange(held_back_replica_, replica);
  // Where this clock is behind, each session names another replica.
  if ((replica == 0) == (before == 0)) return;
  if (replica == 0) {
    spdlog::info("no pair was held back for a minute");
    return;
  }
  spdlog::warn(
      "holding back pairs of replica {:016x}, as they are too far ahead of "
      "this machine's clock; if that replica's clock is ahead, correct it and "
      "run `rocksync restamp` there; if pairs of all others are held back, "
      "correct this machine's clock, and restamp nothing",
      replica);
}

}  // namespace rocksync
