// What ought to be, kept beside the simulated machines: every write ever made,
// and what each disk holds for good. It reads replicas with its own eyes
// (Machine::Read) and believes nothing that they say.

#ifndef ROCKSYNC_TESTS_SIMULATION_STORE_ORACLE_H_
#define ROCKSYNC_TESTS_SIMULATION_STORE_ORACLE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "replication/membership/tombstone_gc.h"
#include "sketch/element/version.h"
#include "tests/simulation/store/machine.h"

namespace rocksync::store_simulation {

using Versions = std::map<Key, Version>;

// Raises each version of `floor` to that of `versions`.
void Raise(const Versions& versions, Versions* floor);

// Of one disk.
struct Durable {
  // A loss of power takes nothing below it, nor may anything below it win.
  Versions floor;
  // Acknowledged, but nobody has synced it: it survives the process.
  Versions pending;
  // Values that the disk has damaged.
  std::set<Key> damaged;
  // Of the replica, as it was last seen: they never go back.
  uint64_t replica_id = 0;
  uint64_t incarnation = 0;
  uint64_t clock = 0;
  uint64_t epoch = 0;
  uint64_t stable_time = 0;
  uint64_t stable_epoch = 0;
  uint64_t acknowledged = 0;  // in this epoch
};

class Oracle {
 public:
  // A write of the application was acknowledged; the replica now holds this.
  // `shares_id`: somebody else may issue versions in the replica's name.
  void Wrote(const Holdings& holdings, const std::string& who, bool shares_id);
  // One failed, and may or may not be there after a crash. The value ends with
  // `tail`; nullopt: deleted.
  void MayHaveWritten(const Key& key, std::optional<std::string> tail);
  // A pair that was there before there was an index.
  void MadeUnversioned(const Key& key, const std::string& value);

  // A replica holds this: each of it was written.
  void Holds(const std::string& who, const Holdings& holdings,
             const std::set<Key>& damaged);
  // A replica was opened, after a crash or not.
  void Opened(Machine* machine, Durable* durable);
  // A replica has reached this stable time.
  void Reached(uint64_t stable_time) {
    furthest_ = std::max(furthest_, stable_time);
  }
  // A session proved the two equal; nothing else has written to these keys
  // since it began.
  void Proved(const std::string& who, const Holdings& one,
              uint64_t one_stable_time, const Holdings& other,
              uint64_t other_stable_time, const std::set<Key>& except);
  // All of the cluster, at the end.
  void ExpectEqual(const std::vector<Machine*>& machines,
                   const std::vector<const Durable*>& disks);

  // The disk of a replica damages what no other holds for good.
  void Excuse(const Key& key) { excused_.insert(key); }

  void Broke(std::string what);
  const std::vector<std::string>& violations() const { return violations_; }

  // True if all hold the same.
  static bool Equal(const std::vector<Holdings>& all,
                    const std::vector<uint64_t>& stable_times);

 private:
  bool WasWritten(const Key& key, const Held& held);
  bool WasSwept(const Key& key, const Version& version,
                uint64_t stable_time) const;
  void CheckFloor(const std::string& who, const Holdings& holdings,
                  uint64_t stable_time, const Durable& durable);

  std::map<Key, std::multimap<Version, std::optional<std::string>>> written_;
  std::map<Key, std::vector<std::optional<std::string>>> maybe_;
  std::map<uint64_t, Version> last_issued_;  // by replica id
  uint64_t furthest_ = 0;                    // stable time of any
  std::set<Key> excused_;
  std::vector<std::string> violations_;
};

std::string Name(const Version& version);

}  // namespace rocksync::store_simulation

#endif  // ROCKSYNC_TESTS_SIMULATION_STORE_ORACLE_H_
