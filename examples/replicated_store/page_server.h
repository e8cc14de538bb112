// The status page: an HTTP port for people and for Prometheus.

#ifndef EXAMPLES_REPLICATED_STORE_PAGE_SERVER_H_
#define EXAMPLES_REPLICATED_STORE_PAGE_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "examples/replicated_store/tombstone_wait.h"
#include "examples/replicated_store/traffic_history.h"
#include "rocksdb/status.h"
#include "rocksync/stats.h"

namespace rocksync {

struct PageOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  std::vector<std::string> names;  // of this host, beside those of loopback
  // host:port of other replicas' pages, which the page shows beside this one.
  // This process asks them, so that a browser need not talk to other origins.
  std::vector<std::string> peers;
};

// Whether `names` may have it: a name or an address without a port; an IPv6
// address in brackets or without.
bool IsPageHost(const std::string& host);
// Whether `peers` may have it.
bool IsPageAddress(const std::string& peer);

// What the page tells of; called on threads of the server.
struct PageSource {
  std::string name;                  // of this replica
  uint64_t session_interval_ms = 0;  // 0: sessions on demand only
  std::function<ReplicationStats()> stats;
  std::function<rocksdb::Status(std::vector<uint32_t>*)> leaves;
  const TrafficHistory* traffic = nullptr;
  const TombstoneWait* tombstone_wait = nullptr;
};

//   /               the page, with /page.css and /page.js
//   /status.json    this replica
//   /leaves         fingerprints of its leaves: 2^16 numbers of 32 bits, little
//                   endian
//   /leaves/digest  one number of 32 bits for all of these: it differs if one
//   of
//                   them does, and, but for chance, if several do
//   /peers/N/...    the last three, of the peer number N of the options
//   /metrics        for Prometheus
//
// Nobody is authenticated; PageGuard turns away other origins, and nothing can
// be changed here.
class PageServer {
 public:
  // IOError: a port that is taken. InvalidArgument: a peer that is no
  // host:port.
  static rocksdb::Status Start(const PageOptions& options, PageSource source,
                               std::unique_ptr<PageServer>* server);

  // Waits for requests in progress.
  virtual ~PageServer() = default;

  virtual uint16_t port() const = 0;
};

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_PAGE_SERVER_H_
