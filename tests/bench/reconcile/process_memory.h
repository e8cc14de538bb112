#ifndef ROCKSYNC_TESTS_BENCH_RECONCILE_PROCESS_MEMORY_H_
#define ROCKSYNC_TESTS_BENCH_RECONCILE_PROCESS_MEMORY_H_

#include <fstream>
#include <string>

namespace rocksync::bench {

// A field of /proc/self/status in MiB, 0 where there is none.
inline double MemoryMib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string name;
  while (status >> name) {
    double kib = 0;
    if (name == field + ":" && status >> kib) return kib / 1024;
    std::getline(status, name);
  }
  return 0;
}

// The peak of memory counts from here.
inline void ResetPeak() { std::ofstream("/proc/self/clear_refs") << 5; }

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_RECONCILE_PROCESS_MEMORY_H_
