#include "examples/demo/report.h"

#include <algorithm>

#include "examples/demo/progress.h"
#include "nlohmann/json.hpp"

namespace rocksync {
namespace {

void Row(std::FILE* out, const char* name, const std::string& value,
         const std::string& beside = "") {
  std::fprintf(out, "  %-34s %14s%s%s\n", name, value.c_str(),
               beside.empty() ? "" : "   ", beside.c_str());
}

std::string Ratio(uint64_t part, uint64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "x %.3f",
                whole == 0
                    ? 1.0
                    : static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

}  // namespace

uint64_t Report::protocol_bytes() const {
  const uint64_t needed =
      comparison.key_bytes_needed + comparison.value_bytes_needed;
  return traffic.bytes_total - std::min(traffic.bytes_total, needed);
}

void PrintTable(const Report& report, std::FILE* out) {
  const ScanComparison& found = report.comparison;
  const Traffic& traffic = report.traffic;
  const uint64_t whole = found.key_bytes + found.value_bytes;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.2f s", report.heal_seconds);

  std::fprintf(out, "\n");
  Row(out, "replicas", std::to_string(report.replicas));
  Row(out, "keys in the end", Grouped(found.keys), Bytes(whole));
  Row(out, "changes while apart", Grouped(report.changes()),
      Grouped(report.puts) + " puts, " + Grouped(report.overwrites) +
          " overwrites, " + Grouped(report.deletes) + " deletes");
  Row(out, "healed in", seconds, Grouped(traffic.exchanges) + " exchanges");
  std::fprintf(out, "\n");
  Row(out, "pairs needed", Grouped(found.pairs_needed));
  Row(out, "pairs shipped", Grouped(traffic.pairs_shipped),
      Ratio(traffic.pairs_shipped, found.pairs_needed));
  Row(out, "bytes of values needed", Grouped(found.value_bytes_needed));
  Row(out, "bytes of values shipped", Grouped(traffic.bytes_values),
      Ratio(traffic.bytes_values, found.value_bytes_needed));
  Row(out, "bytes of keys shipped", Grouped(traffic.bytes_keys),
      Ratio(traffic.bytes_keys, found.key_bytes_needed));
  Row(out, "bytes of filters and sketches", Grouped(traffic.bytes_filters));
  Row(out, "bytes of offers and answers", Grouped(traffic.bytes_offers));
  Row(out, "bytes of all messages", Grouped(traffic.bytes_total),
      "keys and values needed, and " + Grouped(report.protocol_bytes()) +
          " beside them");
  Row(out, "copying all to one replica", Grouped(whole),
      "and what it alone had would be lost");
  std::fprintf(out, "\n");
  Row(out, "proven equal by digests", report.converged ? "yes" : "NO");
  Row(out, "every key and value compared", found.equal ? "equal" : "NOT EQUAL",
      found.first_difference);
}

std::string FormatJson(const Report& report) {
  const nlohmann::ordered_json line = {
      {"replicas", report.replicas},
      {"keys", report.comparison.keys},
      {"changes_while_apart", report.changes()},
      {"converged", report.converged},
      {"verified_by_scan", report.comparison.equal},
      {"heal_seconds", report.heal_seconds},
      {"exchanges", report.traffic.exchanges},
      {"pairs_needed", report.comparison.pairs_needed},
      {"pairs_shipped", report.traffic.pairs_shipped},
      {"value_bytes_needed", report.comparison.value_bytes_needed},
      {"value_bytes_shipped", report.traffic.bytes_values},
      {"protocol_bytes", report.protocol_bytes()}};
  return line.dump();
}

}  // namespace rocksync
