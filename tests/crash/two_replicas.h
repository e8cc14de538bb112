// Kills of replicas that heal each other over loopback TLS while both are
// written to.

#ifndef ROCKSYNC_TESTS_CRASH_TWO_REPLICAS_H_
#define ROCKSYNC_TESTS_CRASH_TWO_REPLICAS_H_

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tests/crash/history.h"
#include "tests/crash/index_scan.h"
#include "tests/crash/kill.h"
#include "tests/crash/process.h"

namespace rocksync::crash {

class TwoReplicas {
 public:
  explicit TwoReplicas(const Settings& settings);

  // Kills one replica or both and checks what they left; `settle`, and
  // sometimes without: then lets them heal, kills both, and compares them pair
  // by pair.
  Kill KillOnce(uint32_t number, bool settle);

 private:
  struct Side {
    explicit Side(uint32_t replica) : history(replica) {}
    std::string directory;
    std::string address;  // once known, the same in every incarnation
    History history;
    std::unique_ptr<Process> child;
    // Of the present child.
    bool quiet = false;
    bool equal = false;
    uint64_t sessions = 0;
    std::string failure;
  };

  void Listen(Side* side, const std::string& line);
  bool StartMissing(uint32_t number, Kill* kill);
  bool Start(uint32_t replica, uint32_t number, Kill* kill);
  bool Wait(const std::function<bool()>& enough, const std::string& what,
            Kill* kill);
  void KillAndCheck(Side* side, Kill* kill);
  void Settle(Kill* kill);
  void Compare(Kill* kill);
  std::vector<Process*> Children() const;

  const Settings settings_;
  std::array<Side, 2> sides_{Side(0), Side(1)};
};

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_TWO_REPLICAS_H_
