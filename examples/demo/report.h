// The outcome of the demo: a table for people, a line of JSON for programs.

#ifndef EXAMPLES_DEMO_REPORT_H_
#define EXAMPLES_DEMO_REPORT_H_

#include <cstdint>
#include <cstdio>
#include <string>

#include "examples/demo/comparison.h"

namespace rocksync {

// What the replicas counted, summed over both ends of each session and halved.
struct Traffic {
  uint64_t pairs_shipped = 0;
  uint64_t bytes_filters = 0;
  uint64_t bytes_offers = 0;
  uint64_t bytes_keys = 0;
  uint64_t bytes_values = 0;
  uint64_t bytes_total = 0;  // without TLS' and TCP's own
  uint64_t exchanges = 0;
};

struct Report {
  uint64_t replicas = 0;
  uint64_t puts = 0;
  uint64_t overwrites = 0;
  uint64_t deletes = 0;
  bool converged = false;  // by digests, as the replicas say
  double heal_seconds = 0;
  Traffic traffic;            // of the heal
  ScanComparison comparison;  // by scan

  uint64_t changes() const { return puts + overwrites + deletes; }

  // All that crossed, less the keys and values of needed pairs.
  uint64_t protocol_bytes() const;
};

void PrintTable(const Report& report, std::FILE* out);

// One line without its end.
std::string FormatJson(const Report& report);

}  // namespace rocksync

#endif  // EXAMPLES_DEMO_REPORT_H_
