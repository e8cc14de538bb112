// docs/filter_format.md. A program of its own, as plugin/ and sketch/ do not go
// together.

#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "plugin/filter_builder.h"
#include "tests/integration/vectors/vector_document.h"

namespace rocksync {
namespace {

std::string FilterOf(const FilterBuilderConfig& config, int keys) {
  FilterBuilder builder(config, {});
  for (int i = 0; i < keys; ++i) {
    builder.AddKey(i == 0 ? "rocksync" : "rocksync " + std::to_string(i));
  }
  std::unique_ptr<const char[]> owned;
  return builder.Finish(&owned).ToString();
}

TEST(TableFilterVectorsTest, TheDocumentTellsWhatTheCodeDoes) {
  FilterBuilderConfig config;
  config.bits_per_key = 10;
  config.probes = {5, 2};
  config.new_seed = [] { return uint64_t{0x0123456789abcdef}; };
  CompareWithDocument(
      {{"table_filter.none", FilterOf(config, 0)},
       {"table_filter.one", FilterOf(config, 1)},
       {"table_filter.hundred", FilterOf(config, 100)}},
      [](std::string_view name) {
        return absl::StartsWith({name.data(), name.size()}, "table_filter.");
      });
}

}  // namespace
}  // namespace rocksync
