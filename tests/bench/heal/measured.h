// What a case measured, beside its anchor in the same run.

#ifndef ROCKSYNC_TESTS_BENCH_HEAL_MEASURED_H_
#define ROCKSYNC_TESTS_BENCH_HEAL_MEASURED_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace rocksync::bench {

struct Measured {
  std::string name;
  uint64_t pairs = 0;  // that travel
  uint64_t value_bytes = 0;
  double seconds = 0;
  // Of what the case is measured by, for the same pairs.
  double anchor_seconds = 0;
  // Of an anchor that syncs nothing, until what it wrote is on the disk, as
  // what the case writes is.
  std::optional<double> synced_anchor_seconds;
  uint64_t bytes = 0;  // all messages, both directions
  // Keys, values and the 8 bytes of a version's time.
  uint64_t bytes_needed = 0;
  // Peak above idle of the side that took more, memtables included.
  uint64_t memory_bytes = 0;
};

// What `measure`, which is false if it failed, writes while `directory` is
// there and, at first, empty. It is removed.
std::optional<Measured> MeasureIn(
    const std::string& directory,
    const std::function<bool(Measured*)>& measure);

// One line: a JSON object, or for people.
void Print(const Measured& measured, bool json);
void PrintHeader();

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_HEAL_MEASURED_H_
