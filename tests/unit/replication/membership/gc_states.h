// States of tombstone garbage collection, as tests make and look at them.

#ifndef ROCKSYNC_TESTS_UNIT_REPLICATION_MEMBERSHIP_GC_STATES_H_
#define ROCKSYNC_TESTS_UNIT_REPLICATION_MEMBERSHIP_GC_STATES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "replication/membership/incarnation.h"
#include "replication/membership/tombstone_gc.h"

namespace rocksync {

inline GcState ListOf(const GcState& gc) {
  GcState list;
  list.epoch = gc.epoch;
  for (const Member& member : gc.members) {
    list.members.push_back(
        {.replica_id = member.replica_id, .since = member.since});
  }
  return list;
}

// Knows a list, and nothing else. The list follows the one of `after`.
inline GcState Of(uint64_t epoch, const std::vector<uint64_t>& ids,
                  const GcState& after = {}) {
  GcState knows = ListOf(after);
  EXPECT_TRUE(knows.SetMembers(epoch, ids, ids.front()).ok());
  return knows;
}

using Readings = std::vector<uint64_t>;

inline Readings Summary(const GcState& gc) {
  Readings summary;
  for (const Member& member : gc.members) summary.push_back(member.summary);
  return summary;
}

inline Readings Acknowledged(const GcState& gc) {
  Readings acknowledged;
  for (const Member& member : gc.members) {
    acknowledged.push_back(member.acknowledged);
  }
  return acknowledged;
}

inline void SetSummary(GcState* gc, const Readings& summary) {
  ASSERT_EQ(gc->members.size(), summary.size());
  for (size_t i = 0; i < summary.size(); ++i) {
    gc->members[i].summary = summary[i];
  }
}

inline void SetAcknowledged(GcState* gc, const Readings& acknowledged) {
  ASSERT_EQ(gc->members.size(), acknowledged.size());
  for (size_t i = 0; i < acknowledged.size(); ++i) {
    gc->members[i].acknowledged = acknowledged[i];
  }
}

// It has this stable time, and knows of no other.
inline void Reach(const StableTime& stable_time, GcState* knows) {
  knows->stable_time = knows->purged = stable_time.time;
  knows->stable_epoch = stable_time.epoch;
  knows->reached = stable_time;
}

inline Incarnation InIncarnation(uint64_t counter, uint64_t random,
                                 uint64_t clock) {
  return {.incarnation = {counter, random},
          .first_clock = clock,
          .clock = clock,
          .past = {.since = counter - 1, .incarnations = {}}};
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_REPLICATION_MEMBERSHIP_GC_STATES_H_
