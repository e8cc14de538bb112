#include "tests/crash/operation.h"

#include <charconv>
#include <cstdio>
#include <sstream>

namespace rocksync::crash {

std::string KeyName(uint32_t key) {
  char name[16];
  std::snprintf(name, sizeof(name), "key-%06u", key);
  return name;
}

std::optional<uint32_t> ParseKeyName(std::string_view name) {
  uint32_t key = 0;
  if (name.substr(0, 4) != "key-") return std::nullopt;
  const char* end = name.data() + name.size();
  const auto result = std::from_chars(name.data() + 4, end, key);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return key;
}

std::string MakeValue(uint64_t id, uint32_t key, uint32_t size) {
  std::string value = std::to_string(id) + "/" + std::to_string(size) + "/";
  uint64_t state = (id << 20) ^ key;
  while (value.size() < size) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value.push_back(static_cast<char>(state >> 56));
  }
  return value;
}

std::optional<uint64_t> WriterOf(uint32_t key, std::string_view value) {
  uint64_t id = 0;
  uint32_t size = 0;
  const char* end = value.data() + value.size();
  auto result = std::from_chars(value.data(), end, id);
  if (result.ec != std::errc() || result.ptr == end) return std::nullopt;
  result = std::from_chars(result.ptr + 1, end, size);
  if (result.ec != std::errc() || MakeValue(id, key, size) != value) {
    return std::nullopt;
  }
  return id;
}

std::string Encode(const Operation& operation) {
  std::string line = std::to_string(operation.id);
  line += operation.sync ? " sync" : " unsynced";
  line += operation.range ? " range" : " batch";
  for (const Change& change : operation.changes) {
    line += " " + std::to_string(change.key) + ":" +
            (change.deleted ? "-" : std::to_string(change.size));
  }
  return line;
}

std::optional<Operation> DecodeOperation(const std::string& line) {
  std::istringstream in(line);
  Operation operation;
  std::string sync, kind, size;
  if (!(in >> operation.id >> sync >> kind)) return std::nullopt;
  operation.sync = sync == "sync";
  operation.range = kind == "range";
  Change change;
  char colon = 0;
  while (in >> change.key >> colon >> size) {
    change.deleted = size == "-";
    change.size = change.deleted ? 0 : static_cast<uint32_t>(std::stoul(size));
    operation.changes.push_back(change);
  }
  return operation;
}

}  // namespace rocksync::crash
