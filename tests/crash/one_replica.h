// Kills of one replica under load, in each phase of its life.

#ifndef ROCKSYNC_TESTS_CRASH_ONE_REPLICA_H_
#define ROCKSYNC_TESTS_CRASH_ONE_REPLICA_H_

#include <map>
#include <memory>
#include <string>

#include "tests/crash/history.h"
#include "tests/crash/index_scan.h"
#include "tests/crash/kill.h"
#include "tests/crash/lost_power.h"
#include "tests/crash/phase.h"
#include "tests/crash/process.h"

namespace rocksync::crash {

class OneReplica {
 public:
  // `loss`: kUnsynced also takes from the files what was not synced.
  OneReplica(const Settings& settings, Loss loss);

  // Starts a child, kills it, and checks what it left.
  Kill KillOnce(uint32_t number);

 private:
  void Listen(const std::string& line);
  void Prepare(Phase phase, Kill* kill);
  void Aim(Phase phase, Dice* dice, Process* child, Kill* kill);
  void CheckData(Phase phase, Dice* dice, Kill* kill);
  void CheckCheckpoint(Kill* kill);
  void CheckBackup(Kill* kill);

  const Settings settings_;
  const Loss loss_;
  const std::string directory_;
  History history_{0};
  DurableFiles files_;
  // Of the present child.
  uint64_t done_ = 0;
  int phase_begun_ = 0;
  int phase_ended_ = 0;
  std::string failure_;
};

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_ONE_REPLICA_H_
