// Parts of Prometheus' text format, for pages with metrics beside those of
// PrometheusText.

#ifndef ROCKSYNC_REPLICATION_METRICS_PROMETHEUS_H_
#define ROCKSYNC_REPLICATION_METRICS_PROMETHEUS_H_

#include <string>
#include <string_view>

namespace rocksync {

// One metric of a page: HELP and TYPE once, then all samples of it.
class PrometheusMetric {
 public:
  enum class Type { kCounter, kGauge };

  // Appends HELP and TYPE to `*page`. `help` is one line without a backslash.
  PrometheusMetric(std::string_view name, Type type, std::string_view help,
                   std::string* page);

  // Appends a sample, with `labels` as they stand between the braces.
  void Sample(std::string_view labels, std::string_view value);

 private:
  const std::string name_;
  std::string* const page_;
};

// Returns NAME="VALUE", with what the format escapes. As in JSON, bytes of
// `value` that are not printable ASCII become '?', so that the page is UTF-8.
std::string PrometheusLabel(std::string_view name, std::string_view value);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_METRICS_PROMETHEUS_H_
