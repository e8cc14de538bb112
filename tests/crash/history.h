// What a replica's database may hold after a kill, from what its children said
// before and after each write.

#ifndef ROCKSYNC_TESTS_CRASH_HISTORY_H_
#define ROCKSYNC_TESTS_CRASH_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/crash/operation.h"

namespace rocksync::crash {

// How many lines are told of what is wrong at one place.
inline constexpr size_t kMaxComplaints = 5;

// Everything found in a database: key number to value.
using Pairs = std::map<uint32_t, std::string>;

// How two databases differ; at most a few lines.
std::vector<std::string> Differences(const Pairs& a, const Pairs& b);

// Which acknowledged writes may be gone.
enum class Loss {
  kNone,      // the process died: what was acknowledged is there
  kUnsynced,  // the power went: what nobody synced since may be gone
};

// The history of the keys that one replica alone writes. Threads of a replica
// may race for a key: a write counts as before another only if it was
// acknowledged before the other began. A state of a key is legal unless a
// write that must be there began after that state was acknowledged.
class History {
 public:
  explicit History(uint32_t replica) : replica_(replica) {}

  void Began(const Operation& operation);
  void Acknowledged(uint64_t id);

  // What is wrong with `found`; at most a few lines.
  std::vector<std::string> Check(const Pairs& found, Loss loss) const;

  // Goes on from what was found.
  void Restart(const Pairs& found);

  uint64_t acknowledged() const { return acknowledged_; }
  uint64_t acknowledged_synced() const { return acknowledged_synced_; }

 private:
  static constexpr uint64_t kNever = UINT64_MAX;

  struct Write {
    Operation operation;
    uint64_t began = 0;
    uint64_t done = kNever;
  };
  // A state that a key went into.
  struct State {
    const Write* write = nullptr;   // null: what Restart found
    std::optional<uint64_t> value;  // its writer; nullopt: no pair
    uint64_t done() const { return write == nullptr ? 0 : write->done; }
    uint64_t began() const { return write == nullptr ? 0 : write->began; }
  };

  bool Owns(uint32_t key) const {
    return ClassOf(key) / kClassesPerReplica == replica_;
  }
  bool MustBeThere(const Write& write, Loss loss) const;
  void CheckKey(uint32_t key, const std::vector<State>& states,
                const Pairs& found, Loss loss,
                std::vector<std::string>* wrong) const;
  // A write that nobody acknowledged is there as a whole or not at all.
  void CheckWhole(const Write& write, const Pairs& found,
                  std::vector<std::string>* wrong) const;

  const uint32_t replica_;
  uint64_t now_ = 0;  // counts what children said
  uint64_t latest_synced_began_ = 0;
  uint64_t acknowledged_ = 0;
  uint64_t acknowledged_synced_ = 0;
  std::map<uint64_t, Write> writes_;  // since Restart; nodes do not move
  std::map<uint32_t, std::vector<State>> states_;
};

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_HISTORY_H_
