// A transport inside one process, for tests and simulations of whole
// replicators: a network of names, whose connections can be told to misbehave.
// Nothing is authenticated: a member is whoever the network was told it is.

#ifndef ROCKSYNC_TESTS_SUPPORT_MEMORY_TRANSPORT_H_
#define ROCKSYNC_TESTS_SUPPORT_MEMORY_TRANSPORT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "rocksync/transport.h"

namespace rocksync {

// What happens to frames on their way. Thread-safe; shared by connections, and
// effective at once for frames sent from then on.
class MemoryFaults {
 public:
  virtual ~MemoryFaults() = default;

  // Every frame arrives this much later.
  virtual void SetDelay(std::chrono::milliseconds delay) = 0;

  // Frames vanish while this is set; the connection stays up, as when a cable
  // is pulled.
  virtual void SetDrop(bool drop) = 0;

  // Cuts all connections now, and those made later after `frames` frames.
  // A negative number: those made later are left alone.
  virtual void Cut(int64_t frames) = 0;

  // Connect fails while this is set.
  virtual void SetDown(bool down) = 0;
};

struct MemoryPipe {
  std::unique_ptr<Connection> dialer;
  std::unique_ptr<Connection> listener;
};

// A pair of ends. bytes_sent and bytes_received count frames with the headers
// a socket would give them. `faults` may be null. Each end's peer_replica_id
// is what is given here; 0: not authenticated.
MemoryPipe NewMemoryPipe(std::shared_ptr<MemoryFaults> faults = nullptr,
                         uint64_t dialer_id = 0, uint64_t listener_id = 0);

std::shared_ptr<MemoryFaults> NewMemoryFaults();

// Names and who listens on them.
class MemoryNetwork {
 public:
  virtual ~MemoryNetwork() = default;

  // A transport of a replica in this network; peers see its connections as
  // authenticated for `replica_id` (0: not authenticated). `faults` (may be
  // null) governs what it dials. Must not outlive the network.
  virtual std::shared_ptr<Transport> Join(
      uint64_t replica_id, std::shared_ptr<MemoryFaults> faults = nullptr) = 0;
};

std::shared_ptr<MemoryNetwork> NewMemoryNetwork();

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_MEMORY_TRANSPORT_H_
