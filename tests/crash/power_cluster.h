// Losses of power of replicas that heal each other over loopback TLS under
// load, with a member list, while tombstones are collected.

#ifndef ROCKSYNC_TESTS_CRASH_POWER_CLUSTER_H_
#define ROCKSYNC_TESTS_CRASH_POWER_CLUSTER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/crash/history.h"
#include "tests/crash/index_scan.h"
#include "tests/crash/kill.h"
#include "tests/crash/lost_power.h"
#include "tests/crash/process.h"
#include "tests/crash/promises.h"

namespace rocksync::crash {

class PowerCluster {
 public:
  PowerCluster(const Settings& settings, uint32_t replicas);

  // Kills one replica, some or all, mostly with a loss of power, and checks
  // what they left. `settle`: then lets all heal until they are proven equal,
  // takes the power from all, and compares them.
  Kill KillOnce(uint32_t number, bool settle);

 private:
  struct Side {
    explicit Side(uint32_t number) : history(number) {}
    std::string directory;
    std::string address;  // once known, the same in every incarnation
    uint64_t id = 0;
    History history;
    DurableFiles files;
    std::unique_ptr<Process> child;
    // Of the present child.
    bool listens = false;
    bool quiet = false;
    bool equal = false;
    uint64_t sessions = 0;
    uint64_t said = 0;
    std::string failure;
  };

  void Listen(size_t replica, const std::string& line);
  bool Start(size_t replica, uint32_t number, Kill* kill);
  bool StartMissing(uint32_t number, Kill* kill);
  bool StayAwayForLong(size_t victim, Dice* dice) const;
  void SetMembers(Dice* dice);
  bool Aim(size_t victim, bool at_once, Dice* dice, Kill* kill);
  bool Wait(const std::function<bool()>& enough, const std::string& what,
            Kill* kill);
  void KillAndCheck(size_t replica, bool keeps_power, Dice* dice, Kill* kill);
  void Settle(Dice* dice, Kill* kill);
  bool SettleOne(size_t replica, Kill* kill);
  void Compare(Dice* dice, Kill* kill);

  const Settings settings_;
  std::vector<Side> sides_;
  Promises promises_;
  bool settled_ = false;  // once, at least
};

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_POWER_CLUSTER_H_
