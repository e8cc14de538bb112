// Reads the text format of Prometheus.

#ifndef ROCKSYNC_TESTS_UNIT_REPLICATION_METRICS_PROMETHEUS_SAMPLES_H_
#define ROCKSYNC_TESTS_UNIT_REPLICATION_METRICS_PROMETHEUS_SAMPLES_H_

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace rocksync {

struct Sample {
  std::string labels;
  std::string value;
};

// Parses the text as strictly as Prometheus does, and more: every metric has
// HELP and TYPE, once and before its samples, and no series is there twice.
inline std::map<std::string, std::vector<Sample>> Parse(
    const std::string& text) {
  static const std::regex help("# HELP ([a-z_]+) ([^\\\\]+\\.)");
  static const std::regex type("# TYPE ([a-z_]+) (counter|gauge)");
  static const std::regex sample(
      "([a-z_]+)\\{((?:[a-z_]+=\"(?:[^\"\\\\]|\\\\[\\\\\"n])*\",?)+)\\} "
      "([0-9]+(?:\\.[0-9]+)?)");
  std::map<std::string, std::vector<Sample>> metrics;
  std::set<std::string> helped, series;
  std::string current;
  EXPECT_TRUE(text.empty() || text.back() == '\n');
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (std::regex_match(line, match, help)) {
      EXPECT_TRUE(helped.insert(match[1]).second) << line;
    } else if (std::regex_match(line, match, type)) {
      current = match[1];
      EXPECT_TRUE(helped.count(current)) << line;
      EXPECT_TRUE(metrics.try_emplace(current).second) << "twice: " << line;
      const bool counts = current.size() > 6 &&
                          current.compare(current.size() - 6, 6, "_total") == 0;
      EXPECT_EQ(counts, match[2] == "counter") << line;
      EXPECT_EQ(current.rfind("rocksync_", 0), 0U) << line;
    } else if (std::regex_match(line, match, sample)) {
      EXPECT_EQ(match[1], current) << "not under its TYPE: " << line;
      EXPECT_TRUE(series.insert(match[1].str() + match[2].str()).second)
          << "twice: " << line;
      metrics[match[1]].push_back({match[2], match[3]});
    } else {
      ADD_FAILURE() << "no line of the format: " << line;
    }
  }
  return metrics;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_REPLICATION_METRICS_PROMETHEUS_SAMPLES_H_
