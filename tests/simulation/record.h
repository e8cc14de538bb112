// What a simulated disk holds of one key: its pair and its index entry.

#ifndef ROCKSYNC_TESTS_SIMULATION_RECORD_H_
#define ROCKSYNC_TESTS_SIMULATION_RECORD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "replication/session/acceptance.h"
#include "replication/session/conflict.h"
#include "sketch/element/element.h"
#include "sketch/element/version.h"

namespace rocksync {

// What a bad disk does, bypassing rocksync, which does not know of it until
// somebody looks.
enum class Damage : uint8_t {
  kNone,
  kValue,    // the value is not what the entry says
  kNoEntry,  // a pair without an entry
  kNoPair,   // a live entry without a pair
  kShows,    // a tombstone with a pair: what was deleted shows again
};

struct Record {
  Version version;
  bool tombstone = false;
  bool quarantined = false;
  Damage damage = Damage::kNone;
  std::shared_ptr<const std::string> value;  // as written; null: a tombstone
  ElementHash hash;
  uint64_t position = 0;

  // It is an element: sessions see it.
  bool Counts(uint64_t stable_time) const {
    return !quarantined && damage != Damage::kNoEntry &&
           !IsCollected(tombstone, version, stable_time);
  }
  // It is in no set, and its replica knows.
  bool IsLeftOut(uint64_t stable_time) const {
    return quarantined && !IsCollected(tombstone, version, stable_time);
  }
};

using RecordKey = std::pair<uint32_t, std::string>;  // family, key
using Records = std::map<RecordKey, Record>;

// What a damaged value reads like.
inline std::string Corrupted(const std::string& value) {
  return value + " corruption";
}

inline Contender AsContender(const Record& record) {
  return {.version = record.version,
          .tombstone = record.tombstone,
          .hash = record.hash};
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_RECORD_H_
