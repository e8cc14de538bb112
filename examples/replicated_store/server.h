// A Redis-protocol port: sockets and threads around Commands.

#ifndef EXAMPLES_REPLICATED_STORE_SERVER_H_
#define EXAMPLES_REPLICATED_STORE_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "examples/replicated_store/commands.h"
#include "examples/replicated_store/resp.h"
#include "rocksdb/status.h"

namespace rocksync {

struct ServerOptions {
  std::string host = "127.0.0.1";  // an IP address
  uint16_t port = 6379;            // 0: any
  size_t threads = 2;
  size_t slow_threads = 3;  // for Commands::IsSlow
  // Fewer where the process may open less than four times as many files.
  size_t max_connections = 1000;
  // Of the requests that have come in part, on all connections together. Beyond
  // it a connection that holds more than 64 KiB of one is ended, with an error.
  uint64_t max_unfinished_bytes = uint64_t{256} << 20;
  // Of replies that clients have not taken, on all connections together. Beyond
  // it a request whose reply is more than 1 MiB gets an error instead.
  uint64_t max_unsent_bytes = uint64_t{512} << 20;
  RespLimits limits;
};

// Nobody is authenticated: whoever reaches the port can read and write all.
class Server {
 public:
  // Listens and serves. IOError names an address that is taken or is not ours.
  // `commands` must outlive the server.
  static rocksdb::Status Start(const ServerOptions& options, Commands* commands,
                               std::unique_ptr<Server>* server);

  // Closes all connections and waits for commands in progress.
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;
};

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_SERVER_H_
