// `rsync -a` from a daemon on loopback: what people copy a checkpoint with.

#ifndef ROCKSYNC_TESTS_BENCH_HEAL_RSYNC_DAEMON_H_
#define ROCKSYNC_TESTS_BENCH_HEAL_RSYNC_DAEMON_H_

#include <string>

namespace rocksync::bench {

// Copies the directory `from` to `to`; files of its own go to `scratch`. In
// seconds, below 0, with the reason on stderr, if it failed.
double SecondsOfRsync(const std::string& from, const std::string& to,
                      const std::string& scratch);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_HEAL_RSYNC_DAEMON_H_
