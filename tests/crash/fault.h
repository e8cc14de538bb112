// Faults to plant in a child, to see that the parent notices. They live here
// alone; the library knows nothing of them.

#ifndef ROCKSYNC_TESTS_CRASH_FAULT_H_
#define ROCKSYNC_TESTS_CRASH_FAULT_H_

#include <map>
#include <string>

namespace rocksync::crash {

enum class Fault {
  kNone,
  kDropEntry,   // data are written without their index entry
  kDropPair,    // data are deleted without their index entry
  kLoseWrite,   // acknowledged, but never written
  kResurrect,   // a deleted pair returns
  kTearBatch,   // a batch is written piece by piece
  kForgetSync,  // acknowledged as synced, but not synced
  kSayEqual,    // "equal" without a session
  kLoseSyncs,   // the log is never synced, whoever asks for it
};

inline const std::map<std::string, Fault>& FaultNames() {
  static const std::map<std::string, Fault> names = {
      {"none", Fault::kNone},
      {"drop-entry", Fault::kDropEntry},
      {"drop-pair", Fault::kDropPair},
      {"lose-write", Fault::kLoseWrite},
      {"resurrect", Fault::kResurrect},
      {"tear-batch", Fault::kTearBatch},
      {"forget-sync", Fault::kForgetSync},
      {"say-equal", Fault::kSayEqual},
      {"lose-syncs", Fault::kLoseSyncs},
  };
  return names;
}

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_FAULT_H_
