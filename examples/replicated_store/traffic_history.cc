#include "examples/replicated_store/traffic_history.h"

#include <utility>

namespace rocksync {
namespace {

// Totals of the statistics never fall, but are not read at one instant.
uint64_t Growth(uint64_t before, uint64_t after) {
  return after > before ? after - before : 0;
}

}  // namespace

void TrafficHistory::Add(uint64_t now_ms, const ReplicationStats& totals) {
  const std::lock_guard lock(mutex_);
  samples_.push_back(
      {now_ms, totals.bytes_filters, totals.bytes_offers, totals.bytes_keys,
       totals.bytes_values, totals.bytes_total,
       totals.stream.bytes_sent + totals.stream.bytes_received,
       totals.pairs_sent + totals.pairs_received + totals.stream.pairs_sent +
           totals.stream.pairs_received});
  if (samples_.size() > kSamples) samples_.pop_front();
}

std::string TrafficHistory::Json() const {
  const std::lock_guard lock(mutex_);
  std::string json = "[";
  for (size_t i = 1; i < samples_.size(); ++i) {
    const Sample& from = samples_[i - 1];
    const Sample& to = samples_[i];
    const uint64_t filters = Growth(from.filters, to.filters);
    const uint64_t offers = Growth(from.offers, to.offers);
    const uint64_t keys = Growth(from.keys, to.keys);
    const uint64_t values = Growth(from.values, to.values);
    if (i > 1) json.push_back(',');
    const std::pair<const char*, uint64_t> fields[] = {
        {"ms", to.ms},
        {"filters", filters},
        {"offers", offers},
        {"keys", keys},
        {"values", values},
        {"other", Growth(filters + offers + keys + values,
                         Growth(from.total, to.total))},
        {"streams", Growth(from.streams, to.streams)},
        {"pairs", Growth(from.pairs, to.pairs)}};
    char separator = '{';
    for (const auto& [name, value] : fields) {
      json.push_back(separator);
      json.append("\"").append(name).append("\":");
      json.append(std::to_string(value));
      separator = ',';
    }
    json.push_back('}');
  }
  return json + "]";
}

}  // namespace rocksync
