#include "replication/metrics/json.h"

#include <algorithm>

namespace rocksync {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : PrintableAscii(text)) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

}  // namespace

JsonObject& JsonObject::AddRaw(std::string_view name, std::string_view value) {
  if (!fields_.empty()) fields_.push_back(',');
  fields_.append(Quoted(name)).append(":").append(value);
  return *this;
}

JsonObject& JsonObject::Add(std::string_view name, std::string_view text) {
  return AddRaw(name, Quoted(text));
}

JsonObject& JsonObject::Add(std::string_view name, uint64_t number) {
  return AddRaw(name, std::to_string(number));
}

JsonObject& JsonObject::Add(std::string_view name, bool value) {
  return AddRaw(name, value ? "true" : "false");
}

JsonObject& JsonObject::Add(std::string_view name, const JsonObject& object) {
  return AddRaw(name, object.Text());
}

JsonObject& JsonObject::Add(std::string_view name,
                            const std::vector<JsonObject>& list) {
  std::string text = "[";
  for (const JsonObject& object : list) {
    if (text.size() > 1) text.push_back(',');
    text.append(object.Text());
  }
  return AddRaw(name, text + "]");
}

JsonObject& JsonObject::Add(std::string_view name,
                            const std::vector<std::string>& list) {
  std::string text = "[";
  for (const std::string& item : list) {
    if (text.size() > 1) text.push_back(',');
    text.append(Quoted(item));
  }
  return AddRaw(name, text + "]");
}

JsonObject& JsonObject::AddKey(std::string_view family, std::string_view key) {
  Add("family", Readable(family));
  if (key.size() <= kLongestReadableKey) Add("key", Readable(key));
  return Add("key_hex", HexBytes(key));
}

std::string PrintableAscii(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

std::string ReadableName(std::string_view name) {
  return PrintableAscii(name) == name ? std::string(name)
                                      : "0x" + HexBytes(name);
}

std::string Readable(std::string_view bytes) {
  const bool readable = !bytes.empty() && !bytes.starts_with("0x") &&
                        std::all_of(bytes.begin(), bytes.end(),
                                    [](char c) { return c > ' ' && c <= '~'; });
  return readable ? std::string(bytes) : "0x" + HexBytes(bytes);
}

std::string HexBytes(std::string_view bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) {
    hex.push_back(kDigits[static_cast<uint8_t>(c) >> 4]);
    hex.push_back(kDigits[static_cast<uint8_t>(c) & 15]);
  }
  return hex;
}

}  // namespace rocksync
