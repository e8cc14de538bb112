#ifndef ROCKSYNC_TESTS_BENCH_RECONCILE_PROCESS_MEMORY_H_
#define ROCKSYNC_TESTS_BENCH_RECONCILE_PROCESS_MEMORY_H_

#include <sys/types.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace rocksync::bench {

// A field of /proc/PID/status in MiB, 0 where there is none.
inline double MemoryMib(const std::string& field, pid_t pid = getpid()) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string name;
  while (status >> name) {
    double kib = 0;
    if (name == field + ":" && status >> kib) return kib / 1024;
    std::getline(status, name);
  }
  return 0;
}

// The peak of memory counts from here.
inline void ResetPeak(pid_t pid = getpid()) {
  std::ofstream("/proc/" + std::to_string(pid) + "/clear_refs") << 5;
}

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_RECONCILE_PROCESS_MEMORY_H_
