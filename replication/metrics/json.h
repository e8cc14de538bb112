// JSON objects for answers to operators: written only, never parsed here.

#ifndef ROCKSYNC_REPLICATION_METRICS_JSON_H_
#define ROCKSYNC_REPLICATION_METRICS_JSON_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rocksync {

// One JSON object, on one line, with its fields in the order of the calls.
class JsonObject {
 public:
  // Adds a text, as PrintableAscii makes it.
  JsonObject& Add(std::string_view name, std::string_view text);
  JsonObject& Add(std::string_view name, const char* text) {
    return Add(name, std::string_view(text));
  }
  JsonObject& Add(std::string_view name, uint64_t number);
  JsonObject& Add(std::string_view name, bool value);
  JsonObject& Add(std::string_view name, const JsonObject& object);
  JsonObject& Add(std::string_view name, const std::vector<JsonObject>& list);
  JsonObject& Add(std::string_view name, const std::vector<std::string>& list);

  // Adds "family", "key" and "key_hex", by which all output names a key: the
  // first two Readable, the third its bytes. Leaves out "key" if it is longer
  // than kLongestReadableKey, so that an object stays smaller than a message.
  JsonObject& AddKey(std::string_view family, std::string_view key);

  std::string Text() const { return "{" + fields_ + "}"; }

 private:
  JsonObject& AddRaw(std::string_view name, std::string_view value);
  std::string fields_;
};

inline constexpr size_t kLongestReadableKey = size_t{64} << 10;

// Returns the same text with '?' for each byte that is not printable ASCII.
std::string PrintableAscii(std::string_view text);

// Returns a cluster's name as people read it: itself if it is printable ASCII,
// else 0x and HexBytes. So two names look the same only if one of them is spelt
// as the hexadecimal form of the other, and converting a name again changes
// nothing.
std::string ReadableName(std::string_view name);

// Returns a key or name as people read it: itself if it is printable ASCII
// without blanks, not empty, and does not begin with 0x; else 0x and HexBytes.
// No two look the same.
std::string Readable(std::string_view bytes);

// Returns two lower-case hex digits for each byte.
std::string HexBytes(std::string_view bytes);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_METRICS_JSON_H_
