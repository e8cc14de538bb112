// One line that shows how far a phase is: redrawn in place on a terminal, a new
// line now and then elsewhere.

#ifndef EXAMPLES_DEMO_PROGRESS_H_
#define EXAMPLES_DEMO_PROGRESS_H_

#include <chrono>
#include <cstdio>
#include <string>

namespace rocksync {

// Not thread-safe.
class Progress {
 public:
  explicit Progress(std::FILE* out);

  // A heading of a phase, shown in front of what follows.
  void Begin(const std::string& phase);

  // `fraction` in [0, 1], negative if unknown. Calls that come too often are
  // not shown.
  void Update(double fraction, const std::string& detail);

  // The last word on the phase.
  void End(const std::string& detail);

 private:
  double SecondsSinceBegin() const;

  std::FILE* const out_;
  const bool terminal_;
  std::string phase_;
  std::chrono::steady_clock::time_point begun_;
  std::chrono::steady_clock::time_point shown_;
};

// 12345678 as "12 345 678".
std::string Grouped(uint64_t number);

// A number of bytes for people: "17 B", "1.5 MB".
std::string Bytes(uint64_t bytes);

}  // namespace rocksync

#endif  // EXAMPLES_DEMO_PROGRESS_H_
