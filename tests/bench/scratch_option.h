// The option --dir of a benchmark.

#ifndef ROCKSYNC_TESTS_BENCH_SCRATCH_OPTION_H_
#define ROCKSYNC_TESTS_BENCH_SCRATCH_OPTION_H_

#include <CLI/CLI.hpp>
#include <string>

namespace rocksync::bench {

// `parent`, which has the default: a directory in which the benchmark makes one
// of its own (TemporaryDirectory), and leaves everything else alone.
inline void AddScratchOption(CLI::App* app, std::string* parent) {
  app->add_option(
         "--dir", *parent,
         "where a directory is made for the databases, rocksync_XXXXXX; "
         "it is gone afterwards, unless the benchmark is killed")
      ->capture_default_str()
      ->check(CLI::ExistingDirectory);
}

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_SCRATCH_OPTION_H_
