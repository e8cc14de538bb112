// How far a TCP connection has come, to the byte: within a record of TLS, too,
// and within what the system still has to send.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_TCP_PROGRESS_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_TCP_PROGRESS_H_

#include <cstdint>
#include <optional>

namespace rocksync {

struct TcpProgress {
  uint64_t received = 0;  // bytes, by the system, read or not
  uint64_t taken = 0;     // that the peer's machine has acknowledged
};

// Of a connected socket. nullopt: the system does not tell (Linux since 4.1
// does). One system call.
std::optional<TcpProgress> ReadTcpProgress(int socket);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_TCP_PROGRESS_H_
