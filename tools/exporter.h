// rocksync exporter: running replicas' statistics, for Prometheus.

#ifndef ROCKSYNC_TOOLS_EXPORTER_H_
#define ROCKSYNC_TOOLS_EXPORTER_H_

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/credentials.h"

namespace rocksync {

struct ExporterOptions {
  std::vector<std::string> replicas;  // host:port of each
  Credentials credentials;
  std::string listen = "127.0.0.1:9742";
  bool once = false;  // print one page instead of serving it
};

// Serves http://LISTEN/metrics until `stop` (may be empty) returns true; each
// request asks every replica, and waits for it no longer than Prometheus says
// that it does. Why a replica does not answer is told on `err`. Exit code 2:
// error; a replica that does not answer is none (its rocksync_up is 0), unless
// it is asked for `once`.
int RunExporter(const ExporterOptions& options,
                const std::function<bool()>& stop, std::ostream& out,
                std::ostream& err);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_EXPORTER_H_
