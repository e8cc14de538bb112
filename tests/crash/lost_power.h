// A loss of power, by what the files of a process say of themselves: each sync
// of a file or a directory is told, and afterwards what was not synced is taken
// from the files, and files go whose names no sync of their directory made
// durable. Renames count as durable.

#ifndef ROCKSYNC_TESTS_CRASH_LOST_POWER_H_
#define ROCKSYNC_TESTS_CRASH_LOST_POWER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "rocksdb/env.h"
#include "tests/crash/kill.h"

namespace rocksync::crash {

// In the process that loses its power: an Env that tells of its files, in lines
//   created FILE, synced SIZE FILE, renamed FILE TO FILE, named DIRECTORY
// `tell` is called from any thread.
std::unique_ptr<rocksdb::Env> NewTellingEnv(
    std::function<void(const std::string& line)> tell);

// Elsewhere: how much of each file is durable.
class DurableFiles {
 public:
  // Takes note of a line if it is one of the above.
  void Note(const std::string& line);

  // Cuts the files; sometimes leaves a part of what was not synced. Returns how
  // many bytes went. Forgets all.
  uint64_t CutFiles(Dice* dice);

  // Copies what is durable of the files in one directory to another, which is
  // made; all of those that nothing was told of.
  void CopyDurable(const std::string& from, const std::string& to) const;

 private:
  struct File {
    uint64_t synced = 0;  // bytes
    bool named = false;   // its name is durable
  };
  std::map<std::string, File> files_;  // that the process made
};

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_LOST_POWER_H_
