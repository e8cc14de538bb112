#include "replication/stream/stream_host.h"

namespace rocksync {

void StreamHost::Repair() {
  if (facts().dialed) return BeginRepair();
  WithDues([](StreamDues* dues) { dues->lists.wants_repair = true; });
  Wake();
}

}  // namespace rocksync
