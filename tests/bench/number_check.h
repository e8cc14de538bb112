// Numbers on the command line of a benchmark.

#ifndef ROCKSYNC_TESTS_BENCH_NUMBER_CHECK_H_
#define ROCKSYNC_TESTS_BENCH_NUMBER_CHECK_H_

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>

namespace rocksync::bench {

// CLI11 itself takes -1 for a count of 2^64 - 1, and "nan" for within any
// range.
inline CLI::Validator Number(double least, double most) {
  const std::string range =
      CLI::detail::to_string(least) + " to " + CLI::detail::to_string(most);
  return {[=](std::string& text) {
            char* end = nullptr;
            const double number = std::strtod(text.c_str(), &end);
            const bool within = end != text.c_str() && *end == '\0' &&
                                number >= least && number <= most;
            return within ? std::string()
                          : text + " is not a number from " + range;
          },
          range};
}

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_NUMBER_CHECK_H_
