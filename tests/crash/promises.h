// What a loss of power must not take from a replica, since others may already
// act on it: what it has said of itself, and what has left it.

#ifndef ROCKSYNC_TESTS_CRASH_PROMISES_H_
#define ROCKSYNC_TESTS_CRASH_PROMISES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sketch/element/version.h"
#include "tests/crash/index_scan.h"

namespace rocksync::crash {

// As far as it was reached by the present list. Only that never goes back.
uint64_t StableTimeInList(const GcState& gc);

// Of all replicas of a cluster, by what their children say:
//   said EPOCH STABLE COLLECTED ACKNOWLEDGED READING INCARNATION   of itself
//   came KEY TIME REPLICA WRITER         from a peer; WRITER 0: a deletion
// STABLE is the stable time that the present list reached, COLLECTED any.
class Promises {
 public:
  explicit Promises(size_t replicas) : said_(replicas) {}

  // Takes note of a line of `replica` if it is one of the above.
  void Note(size_t replica, const std::string& line);

  // What of it is missing on the disk of `replica`; at most a few lines.
  std::vector<std::string> Check(size_t replica, const Scan& disk) const;

  // What was wrong already when it was said.
  const std::vector<std::string>& wrong() const { return wrong_; }

  // The newest list that anybody spoke of, and how far `replica` is.
  uint64_t epoch() const;
  uint64_t epoch(size_t replica) const { return said_[replica].epoch; }
  // How many pairs came from the replica with this id.
  uint64_t came_from(uint64_t replica_id) const;

 private:
  struct Said {
    uint64_t epoch = 0;
    uint64_t stable_time = 0;
    uint64_t collected = 0;     // the largest, ever
    uint64_t acknowledged = 0;  // in `epoch`
    uint64_t reading = 0;
    uint64_t incarnation = 0;
  };
  void Say(size_t replica, const Said& now);
  void Come(uint32_t key, const Version& version, uint64_t writer);

  std::vector<Said> said_;
  // The latest version of a key that left its origin: origin and key.
  std::map<std::pair<uint64_t, uint32_t>, Version> left_;
  std::map<uint64_t, uint64_t> came_from_;
  std::map<Version, uint64_t> writers_;  // a version is issued once
  std::vector<std::string> wrong_;
};

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_PROMISES_H_
