// JSON objects for answers to operators: written only, never parsed here.

#ifndef ROCKSYNC_REPLICATION_JSON_H_
#define ROCKSYNC_REPLICATION_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rocksync {

// One object, on one line; fields in the order of the calls.
class JsonObject {
 public:
  // Text; bytes that are not printable ASCII become '?'.
  JsonObject& Add(std::string_view name, std::string_view text);
  JsonObject& Add(std::string_view name, const char* text) {
    return Add(name, std::string_view(text));
  }
  JsonObject& Add(std::string_view name, uint64_t number);
  JsonObject& Add(std::string_view name, bool value);
  JsonObject& Add(std::string_view name, const JsonObject& object);
  JsonObject& Add(std::string_view name, const std::vector<JsonObject>& list);
  JsonObject& Add(std::string_view name, const std::vector<std::string>& list);

  std::string Text() const { return "{" + fields_ + "}"; }

 private:
  JsonObject& AddRaw(std::string_view name, std::string_view value);
  std::string fields_;
};

// A key or name as people read it: itself if it is printable ASCII without
// blanks, else its bytes in hexadecimal after 0x.
std::string Readable(std::string_view bytes);

// 16 hex digits, as certificates have them.
std::string HexId(uint64_t id);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_JSON_H_
