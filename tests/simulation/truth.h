// What ought to be, kept beside the simulated cluster: every write ever made,
// what became durable, what was collected, and what a proof of equality may
// claim.

#ifndef ROCKSYNC_TESTS_SIMULATION_TRUTH_H_
#define ROCKSYNC_TESTS_SIMULATION_TRUTH_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sketch/element/digest.h"
#include "sketch/element/version.h"
#include "tests/simulation/memory_storage.h"

namespace rocksync {

class Truth {
 public:
  using Key = RecordKey;
  using Storages = std::vector<const MemoryStorage*>;
  // One side of a session: what it saw and what it has become.
  struct Proof {
    const Records* snapshot;
    uint64_t stable_time;  // of the snapshot
    const MemoryStorage* storage;
  };

  // A replica wrote this. The version must be new, unless the writer
  // `shares_its_id`: a copy, or a backup, that nobody has recognised yet; or it
  // becomes unversioned.
  void Wrote(const Key& key, const Record& record, bool shares_its_id);
  // A pair that had this version was damaged, no peer knew better, and so it
  // becomes unversioned.
  void MadeUnversioned(const Key& key, const Version& was,
                       const Record& record);
  // A replica has synced this.
  void Synced(const Records& records);
  // A disk that had synced `lost` is gone, or out of reach; these are left.
  void Lost(const Records& lost, const Storages& left);
  // A disk was replaced by an old state of it. What was deleted and collected
  // may live again if none of those that are left knows of the deletion.
  void Unlearn(const Storages& left);
  // The disk of a replica has damaged this; of the others these are left.
  void Corrupted(uint64_t replica_id, const Key& key, const Record& record,
                 const Storages& left);
  // A replica collects a tombstone.
  void Collected(const Key& key, const Version& version, bool fenced);

  // A replica applied this at this time of its own clock. `fenced`: nobody lets
  // it in, and what it does to itself does not matter.
  void Applied(const Pair& pair, uint64_t wall_ms, uint64_t max_ahead_ms,
               bool fenced);

  // A session between the two called them equal, merged to `merged`; the first
  // is asked whether it is so, now and after a crash.
  void Proved(const Proof& side, const Proof& other, const Digest& merged);

  // Something happened that never should.
  void Broke(std::string what) { Violated(std::move(what)); }

  // Faults and writes are over; these are the replicas. What was deleted and
  // collected lives on none of them but on those that are `fenced`.
  void Settle(const Storages& replicas, const Storages& fenced);
  // True if all of them hold the winners of Settle, and no damage.
  bool Equal(const Storages& replicas) const;
  // Reports what differs from the winners.
  void ExpectEqual(const Storages& replicas);

  bool IsExcused(const Key& key) const { return excused_.count(key) > 0; }
  bool IsDamaged(uint64_t replica_id, const Key& key) const {
    return damaged_.count({replica_id, key}) > 0;
  }
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  void Violated(std::string what);
  // What is durable of this key is what is left of it.
  void NoteLeft(const Key& key, const Storages& left);
  bool WasWritten(const Key& key, const Version& version,
                  const std::string* value) const;
  bool IsGone(const Key& key, const Version& version) const;
  // It counts as written after all deletions of the key so far.
  bool IsUnversioned(const Key& key, const Version& version) const;
  bool LivesAgain(const Key& key, const Version& version) const;

  std::map<Key, std::multimap<Version, Record>> written_;
  std::map<Key, Version> durable_;
  std::map<Key, std::set<Version>> collected_;  // tombstones, by a member
  std::map<Key, std::set<Version>> gone_;       // by anybody
  // The disk that alone held the newest version damaged it: an older one may
  // come back, or the damaged one become unversioned.
  std::set<Key> excused_;
  // What was adopted although older versions of it had been deleted and
  // collected: it was written since.
  std::set<Key> unversioned_;
  std::set<std::pair<uint64_t, Key>> damaged_;  // ever, by replica id
  Records winners_;
  std::vector<std::string> violations_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_TRUTH_H_
