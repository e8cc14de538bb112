// Reads the progress of a TCP connection, exact to the byte: also within a TLS
// record, and within what the system still has to send.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_TCP_PROGRESS_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_TCP_PROGRESS_H_

#include <cstdint>
#include <optional>

namespace rocksync {

struct TcpProgress {
  uint64_t received = 0;  // bytes received by the system, read or not
  uint64_t taken = 0;     // bytes that the peer's machine has acknowledged
};

// Returns the progress of a connected socket; nullopt if the system does not
// tell (Linux does since 4.1). Takes one system call.
std::optional<TcpProgress> ReadTcpProgress(int socket);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_TCP_PROGRESS_H_
