// What a child writes, and how its values say who wrote them.

#ifndef ROCKSYNC_TESTS_CRASH_OPERATION_H_
#define ROCKSYNC_TESTS_CRASH_OPERATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rocksync::crash {

// Keys are numbers, in classes of kClassKeys. A class belongs to one thread of
// one replica, to all threads of one replica, or to everybody. The number's
// parity says which of the two column families the pair is in.
inline constexpr uint32_t kClassKeys = 400;
inline constexpr uint32_t kClassesPerReplica = 10;
inline constexpr uint32_t kThreads = 3;
inline constexpr uint32_t kThreadsShareClass = 9;  // of a replica's classes
inline constexpr uint32_t kReplicasShareClass = 90;

constexpr uint32_t KeyOf(uint32_t key_class, uint32_t index) {
  return key_class * 1000 + index;
}
constexpr uint32_t ClassOf(uint32_t key) { return key / 1000; }
constexpr uint32_t FamilyOf(uint32_t key) { return key % 2; }
inline constexpr const char* kFamilyNames[] = {"default", "second"};

// In the order of the numbers.
std::string KeyName(uint32_t key);
std::optional<uint32_t> ParseKeyName(std::string_view name);

struct Change {
  uint32_t key = 0;
  bool deleted = false;
  uint32_t size = 0;  // of the value
};

// One write: a put, a delete, a batch, or a DeleteRange.
struct Operation {
  uint64_t id = 0;  // of one run
  bool sync = false;
  bool range = false;  // changes are the deletions of neighbours in one family
  std::vector<Change> changes;
};

// The value that operation `id` gives to `key`: no other operation gives the
// same, and every byte is determined.
std::string MakeValue(uint64_t id, uint32_t key, uint32_t size);
// The operation that wrote `value`, or nullopt if the bytes are not what it
// wrote.
std::optional<uint64_t> WriterOf(uint32_t key, std::string_view value);

// One line, without its end; short enough for an atomic write to a pipe.
std::string Encode(const Operation& operation);
std::optional<Operation> DecodeOperation(const std::string& line);

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_OPERATION_H_
