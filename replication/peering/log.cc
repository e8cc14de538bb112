#include "replication/peering/log.h"

#include <cinttypes>

#include "replication/statistics/one_line.h"

namespace rocksync {
namespace {

rocksdb::InfoLogLevel LevelOf(const SessionReport& report,
                              const rocksdb::Status& status) {
  if (!status.ok()) return rocksdb::InfoLogLevel::WARN_LEVEL;
  const bool moved = report.pairs_sent + report.pairs_received > 0;
  return moved ? rocksdb::InfoLogLevel::INFO_LEVEL
               : rocksdb::InfoLogLevel::DEBUG_LEVEL;
}

std::string Verdict(const SessionReport& report,
                    const rocksdb::Status& status) {
  if (!status.ok()) return OneLine(status.ToString());
  if (report.verifying) return "compared without shipping";
  if (report.proven_equal) return "proven equal";
  if (report.digests_equal) return "digests equal, quarantined pairs left out";
  if (report.expired) return "continues in a new session";
  return "ended, not proven equal";
}

}  // namespace

void SessionLog::Write(rocksdb::Logger* log, const std::string& peer,
                       uint64_t replica_id, const SessionReport& report,
                       const rocksdb::Status& status,
                       std::chrono::steady_clock::duration took) {
  std::string verdict = Verdict(report, status);
  if (status.ok()) {
    failures_.NoteSuccess(replica_id);
  } else {
    uint64_t unlogged = 0;
    if (!failures_.Note(replica_id, verdict, RepeatedFailures::Clock::now(),
                        &unlogged)) {
      return;
    }
    if (unlogged > 0) {
      verdict += " (so did " + std::to_string(unlogged) +
                 " more since this was logged last)";
    }
  }
  rocksdb::Log(
      LevelOf(report, status), log,
      "rocksync: session with %s (replica %016" PRIx64
      "): %s; pairs sent %" PRIu64 ", received %" PRIu64 ", applied %" PRIu64
      ", superseded %" PRIu64 ", held back %" PRIu64 "; bytes %" PRIu64
      "; exchanges %" PRIu32 "; took %" PRId64 " ms",
      peer.c_str(), replica_id, verdict.c_str(), report.pairs_sent,
      report.pairs_received, report.pairs_applied, report.pairs_superseded,
      report.pairs_held_back, report.bytes_sent + report.bytes_received,
      report.exchanges,
      static_cast<int64_t>(
          std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
}

void RefusalLog::Write(const std::shared_ptr<rocksdb::Logger>& log,
                       const std::string& peer, const rocksdb::Status& why) {
  constexpr std::chrono::milliseconds kBetween{1'000};
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now - written_ < kBetween) return;
    written_ = now;
  }
  rocksdb::Log(rocksdb::InfoLogLevel::WARN_LEVEL, log,
               "rocksync: refused connection from %s: %s", peer.c_str(),
               OneLine(why.ToString()).c_str());
}

}  // namespace rocksync
