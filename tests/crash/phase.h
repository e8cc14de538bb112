// What a child does beside its load, for the kill to hit.

#ifndef ROCKSYNC_TESTS_CRASH_PHASE_H_
#define ROCKSYNC_TESTS_CRASH_PHASE_H_

#include <atomic>
#include <string>

#include "tests/crash/replica.h"

namespace rocksync::crash {

enum class Phase {
  kLoad,        // nothing
  kOpen,        // killed soon after its start, so often while it opens
  kFlush,       // memtables are flushed
  kCompact,     // everything is compacted
  kSnapshot,    // digests are readied, as for a session
  kCheckpoint,  // checkpoints are taken
  kBackup,      // backups are taken
  kAdoption,    // an existing plain database is adopted
  kClose,       // the database is closed
};
inline constexpr Phase kPhases[] = {
    Phase::kLoad,    Phase::kOpen,     Phase::kFlush,
    Phase::kCompact, Phase::kSnapshot, Phase::kCheckpoint,
    Phase::kBackup,  Phase::kAdoption, Phase::kClose};
std::string Name(Phase phase);

// Where a child whose database is in `directory` leaves things.
inline std::string CheckpointDirectory(const std::string& directory, int n) {
  return directory + ".checkpoint" + std::to_string(n);
}
inline std::string BackupDirectory(const std::string& directory) {
  return directory + ".backup";
}

// Does it again and again until `stop`, and says when each begins and ends.
// Nothing for phases that are no activity.
void RunPhase(Phase phase, const std::string& directory, Replica* replica,
              const std::atomic<bool>& stop);

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_PHASE_H_
