// An HTTP port for a few readers, which many silent or slow clients do not keep
// from them.

#ifndef ROCKSYNC_TOOLS_HTTP_HTTP_SERVER_H_
#define ROCKSYNC_TOOLS_HTTP_HTTP_SERVER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>

#include "httplib.h"
#include "tools/http/page_guard.h"

namespace rocksync {

struct HttpLimits {
  // Served at once, each by a thread, which is made when it is needed; at least
  // 2. One more takes the place of the one that keeps us waiting the longest,
  // for `grace` at least: for its request, instead of which it gets status 503,
  // or by taking nothing of its response, which is cut.
  size_t connections = 64;
  std::chrono::milliseconds grace{100};
  // So many more wait for a place; further ones get status 503. Of either, a
  // quarter of the files that the process may open at most.
  size_t waiting = 256;
  // For a whole request, and for a whole response to be taken.
  std::chrono::milliseconds request_time{5000};
  std::chrono::milliseconds response_time{5000};
  size_t request_bytes = size_t{64} << 10;
};

// Answers one GET or HEAD a connection. Set its routes, then Start.
class HttpServer : public httplib::Server {
 public:
  explicit HttpServer(PageGuard guard, const HttpLimits& limits = {});
  // Ends the connections that wait for their clients, and waits for requests in
  // progress.
  ~HttpServer() override;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Serves in threads of its own. Port 0: any. Returns the port, or -1: it
  // cannot be listened on, and `*why` says why, as far as the system does.
  int Start(const std::string& host, uint16_t port, std::string* why = nullptr);

  // Called by nobody but the server and its threads.
  class Clients;

 private:
  bool process_and_close_socket(socket_t socket) override;
  HandlerResponse Admit(const httplib::Request& request,
                        httplib::Response& response) const;

  const PageGuard guard_;
  const HttpLimits limits_;
  const std::unique_ptr<Clients> clients_;
  std::atomic<bool> ended_{false};
  std::thread listener_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_HTTP_HTTP_SERVER_H_
