// What ought to be, kept beside the simulated cluster: every write ever made,
// what became durable, and what a proof of equality may claim.

#ifndef ROCKSYNC_TESTS_SIMULATION_TRUTH_H_
#define ROCKSYNC_TESTS_SIMULATION_TRUTH_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sketch/digest.h"
#include "sketch/version.h"
#include "tests/simulation/memory_storage.h"

namespace rocksync {

class Truth {
 public:
  using Key = MemoryStorage::Key;
  using Records = MemoryStorage::Records;

  // A replica wrote this. The version must be new, unless the writer
  // `shares_its_id`: a copy, or a backup, that nobody has recognised yet.
  void Wrote(const Key& key, const MemoryStorage::Record& record,
             bool shares_its_id);
  // A replica has synced this.
  void Synced(const Records& records);
  // A disk that had synced `lost` is gone; these are left.
  void Lost(const Records& lost, const std::vector<const Records*>& left);
  // A replica applied this at this time of its own clock.
  void Applied(const Pair& pair, uint64_t wall_ms, uint64_t max_ahead_ms);

  // A session between snapshots `a` and `b` called them equal, merged to
  // `merged`; `now` is what one side holds, `synced` what it has synced.
  void Proved(const Records& a, const Records& b, const Digest& merged,
              const Records& now, const Records& synced);

  // Something happened that never should.
  void Broke(std::string what) { Violated(std::move(what)); }

  // Faults and writes are over; these are the replicas.
  void Settle(const std::vector<const Records*>& replicas);
  // True if all of them hold the winners of Settle.
  bool Equal(const std::vector<const Records*>& replicas) const;
  // Reports what differs from the winners.
  void ExpectEqual(const std::vector<const Records*>& replicas);

  const std::vector<std::string>& violations() const { return violations_; }

 private:
  void Violated(std::string what);
  void ExpectWritten(const Key& key, const MemoryStorage::Record& record);

  std::map<Key, std::multimap<Version, MemoryStorage::Record>> written_;
  std::map<Key, Version> durable_;
  Records winners_;
  std::vector<std::string> violations_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_TRUTH_H_
