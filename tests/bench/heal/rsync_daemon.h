// `rsync -a` from a daemon on loopback: what people copy a checkpoint with.

#ifndef ROCKSYNC_TESTS_BENCH_HEAL_RSYNC_DAEMON_H_
#define ROCKSYNC_TESTS_BENCH_HEAL_RSYNC_DAEMON_H_

#include <optional>
#include <string>

namespace rocksync::bench {

struct RsyncSeconds {
  double copied = 0;  // when rsync ended, which syncs nothing
  double synced = 0;  // when what it wrote was on the disk
};

// Copies the directory `from` to `to`; files of its own go to `scratch`.
// Nothing, with the reason on stderr, if it failed.
std::optional<RsyncSeconds> TimeRsync(const std::string& from,
                                      const std::string& to,
                                      const std::string& scratch);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_HEAL_RSYNC_DAEMON_H_
