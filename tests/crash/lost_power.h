// A loss of power, by what a child's files say of themselves: each sync of a
// file is told to the parent, and after the kill the parent cuts from every
// file what was not synced. Names and renames count as durable.

#ifndef ROCKSYNC_TESTS_CRASH_LOST_POWER_H_
#define ROCKSYNC_TESTS_CRASH_LOST_POWER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "rocksdb/env.h"
#include "tests/crash/kill.h"

namespace rocksync::crash {

// In the child: an Env that says of each file
//   created FILE, synced SIZE FILE, renamed FILE TO FILE
std::unique_ptr<rocksdb::Env> NewTellingEnv();

// In the parent: how much of each file is durable.
class SyncedSizes {
 public:
  // Takes note of a line if it is one of the above.
  void Note(const std::string& line);

  // Cuts the files; sometimes leaves a part of what was not synced. Returns how
  // many bytes went. Forgets all.
  uint64_t CutFiles(Dice* dice);

 private:
  std::map<std::string, uint64_t> sizes_;  // of files that a child made
};

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_LOST_POWER_H_
