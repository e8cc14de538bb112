// The process that is killed: a replica under load.

#ifndef ROCKSYNC_TESTS_CRASH_CHILD_H_
#define ROCKSYNC_TESTS_CRASH_CHILD_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rocksync::crash {

struct ChildOptions {
  std::string directory;
  uint64_t seed = 1;
  uint32_t kill = 0;     // how many lives there were before
  uint32_t replica = 0;  // whose keys it writes
  int phase = 0;         // index into kPhases
  std::string fault = "none";
  bool tell_syncs = false;  // see lost_power.h
  bool tell_peers = false;  // see promises.h; also collects tombstones

  // For a child that heals: it listens, and syncs with `peers`.
  std::string listen;
  std::vector<std::string> peers;
  std::string certificates;
};

// Writes until it is killed. Requests on its standard input:
//   close   end the load and close the database
//   quiet   end the load
//   settle  end the load and sync with each peer until both are proven equal
//   members EPOCH ID...   set this member list
int RunChild(const ChildOptions& options);

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_CHILD_H_
