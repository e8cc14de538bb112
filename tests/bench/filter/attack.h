// Keys mined offline, without access to the database, so that a filter answers
// "maybe" to the attacker's absent keys.

#ifndef ROCKSYNC_TESTS_BENCH_FILTER_ATTACK_H_
#define ROCKSYNC_TESTS_BENCH_FILTER_ATTACK_H_

#include "tests/bench/filter/report.h"

namespace rocksync::bench {

// 300 mined keys among 10^6 ordinary ones at 10 bits a key; asks for 2 000
// mined absent keys. Two attacks: on the built-in filter's public hash, and on
// the seed of some other rocksync filter.
void MeasureAttack(Report* report);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_FILTER_ATTACK_H_
