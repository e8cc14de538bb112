// What a seed makes of a simulated run: how many replicas, how they are linked,
// and what goes wrong how often.

#ifndef ROCKSYNC_TESTS_SIMULATION_SHAPE_H_
#define ROCKSYNC_TESTS_SIMULATION_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "replication/session/session.h"

namespace rocksync {

// A few hundred elements need no more leaves than that.
inline constexpr int kLeafBitsHere = 6;

struct ClusterShape {
  size_t replicas = 2;
  size_t keys = 5;
  uint32_t families = 1;
  enum class Links { kMesh, kRing, kStar } links = Links::kMesh;
  bool sync_every_write = false;
  bool incoming_at_once = false;  // a replica may be in several sessions
  uint64_t interval_ms = 5000;
  uint64_t faulty_ms = 40'000;  // how long faults and writes go on
  uint64_t write_every_ms = 300;
  uint64_t max_skew_ms = 0;
  uint64_t lose_one_in = 0;   // frames: the connection then hangs; 0: none
  uint64_t break_one_in = 0;  // frames: the connection breaks
  uint64_t slow_one_in = 0;   // frames that take seconds
  uint64_t crash_every_ms = 0;
  uint64_t partition_every_ms = 0;
  uint64_t fail_write_every_ms = 0;
  uint64_t rollback_every_ms = 0;     // a disk is replaced by an old backup
  uint64_t copy_every_ms = 0;         // a copy is started beside the original
  bool members = false;               // there is a member list
  uint64_t join_every_ms = 0;         // an empty replica is added
  uint64_t remove_every_ms = 0;       // an operator removes a member
  uint64_t absent_every_ms = 0;       // somebody goes away for long
  uint64_t old_copy_every_ms = 0;     // an old copy is added as a new replica
  uint64_t crash_shipper_one_in = 0;  // who has just handed a pair on
  bool keeps_links = false;           // for several sessions
  uint64_t corrupt_every_ms = 0;      // a disk damages a pair
  size_t large_value = 0;             // bytes of one value in 20
  size_t value_bytes = 0;             // of every value, at least
  size_t session_bytes = 0;           // that a session may hold; 0: not bounded
  // Streams beside the sessions.
  bool streams = false;
  bool zones = false;              // two, in turns
  uint64_t stream_window = 0;      // bytes that a peer may have under way
  size_t stream_buffer_bytes = 0;  // of the log of changes
  SessionOptions session;
};
ClusterShape ShapeOf(uint64_t seed);
std::string Describe(const ClusterShape& shape);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_SHAPE_H_
