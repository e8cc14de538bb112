#ifndef ROCKSYNC_TESTS_BENCH_RECONCILE_THREAD_CLOCK_H_
#define ROCKSYNC_TESTS_BENCH_RECONCILE_THREAD_CLOCK_H_

#include <time.h>

namespace rocksync::bench {

// CPU time of this thread, in milliseconds.
inline double ThreadCpuMs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) +
         1e-6 * static_cast<double>(now.tv_nsec);
}

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_RECONCILE_THREAD_CLOCK_H_
