// Reading JSON that a replica sent, which may be anything.

#ifndef ROCKSYNC_TOOLS_JSON_FIELDS_H_
#define ROCKSYNC_TOOLS_JSON_FIELDS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "replication/metrics/json.h"
#include "rocksdb/status.h"
#include "rocksync/replica_id.h"

namespace rocksync {

// `Json` is one of nlohmann's. Discarded (is_discarded()) if `text` is none, or
// is nested deeper than what is written by recursion may be.
template <typename Json>
Json ParseJson(const std::string& text) {
  constexpr int kMaxDepth = 32;
  bool deep = false;
  Json json = Json::parse(
      text,
      [&deep](int depth, auto, auto&) {
        deep = deep || depth > kMaxDepth;
        return !deep;
      },
      /*allow_exceptions=*/false);
  return deep ? Json(Json::value_t::discarded) : json;
}

// The members of an object, which must outlive this; every getter has an
// answer, whatever is there.
template <typename Json>
class JsonFields {
 public:
  explicit JsonFields(const Json& json) : json_(json) {}

  uint64_t Number(std::string_view name) const {
    const Json* const value = Find(name);
    return value != nullptr && value->is_number_unsigned()
               ? value->template get<uint64_t>()
               : 0;
  }
  bool Flag(std::string_view name, bool otherwise = false) const {
    const Json* const value = Find(name);
    return value != nullptr && value->is_boolean() ? value->template get<bool>()
                                                   : otherwise;
  }
  bool HasFlag(std::string_view name) const {
    const Json* const value = Find(name);
    return value != nullptr && value->is_boolean();
  }
  bool HasText(std::string_view name) const {
    const Json* const value = Find(name);
    return value != nullptr && value->is_string();
  }
  // As PrintableAscii: a terminal obeys other bytes.
  std::string Text(std::string_view name) const {
    const Json* const value = Find(name);
    return value != nullptr && value->is_string()
               ? PrintableAscii(value->template get_ref<const std::string&>())
               : std::string();
  }
  // 0: it is none.
  uint64_t Id(std::string_view name) const {
    return ParseReplicaId(Text(name)).value_or(0);
  }
  // An object or array, empty if there is none.
  const Json& Part(std::string_view name) const {
    static const Json none = Json::object();
    const Json* const value = Find(name);
    return value != nullptr ? *value : none;
  }

 private:
  const Json* Find(std::string_view name) const {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(std::string(name));
    return found == json_.end() ? nullptr : &*found;
  }
  const Json& json_;
};

// Corruption: `json` is no status of a replica, which tells its id.
template <typename Json>
rocksdb::Status CheckIsStatus(const Json& json) {
  if (!json.is_object()) {
    return rocksdb::Status::Corruption("the answer is no JSON object");
  }
  if (JsonFields(json).Id("replica_id") == 0) {
    return rocksdb::Status::Corruption("the answer tells no replica id");
  }
  return rocksdb::Status::OK();
}

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_JSON_FIELDS_H_
