#include "replication/transport/tcp_progress.h"

// The tcp_info of <netinet/tcp.h> ends before the fields used here. The two
// headers cannot be included in one source.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace rocksync {

std::optional<TcpProgress> ReadTcpProgress(int socket) {
  tcp_info info = {};
  socklen_t size = sizeof info;
  constexpr size_t kNeeded =
      offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      size < kNeeded) {
    return std::nullopt;
  }
  return TcpProgress{info.tcpi_bytes_received, info.tcpi_bytes_acked};
}

}  // namespace rocksync
