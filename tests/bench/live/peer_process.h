// The other replica, in a process of its own, told what to do over a pipe.

#ifndef ROCKSYNC_TESTS_BENCH_LIVE_PEER_PROCESS_H_
#define ROCKSYNC_TESTS_BENCH_LIVE_PEER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace rocksync {

// What a line asks for, and the line of numbers that answers it:
//   start            the replicator; its port
//   stop             the replicator; 0
//   watch PREFIX N   waits for the keys PREFIX0 .. PREFIX<N-1>, whose values
//                    begin with the time of their writing (8 bytes, NowNs);
//                    how late each was there, in ns
//   find KEY         waits for the key; when it was there (NowNs)
//   applied          pairs that came by streams, and that came by sessions
//   memory           resident bytes
class PeerProcess {
 public:
  // Runs this program again as RunPeer(directory, certificates).
  PeerProcess(const std::string& directory, const std::string& certificates);
  ~PeerProcess();

  void Ask(const std::string& line);
  std::vector<uint64_t> Answer();
  std::vector<uint64_t> Call(const std::string& line) {
    Ask(line);
    return Answer();
  }

 private:
  pid_t pid_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

// The other process, until its input ends.
int RunPeer(const std::string& directory, const std::string& certificates);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_BENCH_LIVE_PEER_PROCESS_H_
