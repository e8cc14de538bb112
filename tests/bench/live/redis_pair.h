// A Redis server and its replica, for comparison: the same writes, the same way
// to look whether they are there.

#ifndef ROCKSYNC_TESTS_BENCH_LIVE_REDIS_PAIR_H_
#define ROCKSYNC_TESTS_BENCH_LIVE_REDIS_PAIR_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rocksync {

// How late each of `count` writes, so many a second, was readable at the
// replica, in ns. Empty: there is no redis-server to be run.
std::vector<uint64_t> MeasureRedis(const std::string& directory, int count,
                                   uint64_t per_second);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_BENCH_LIVE_REDIS_PAIR_H_
