#include "replication/peering/stream_receiver.h"

#include <string>
#include <utility>

#include "replication/peering/replica.h"
#include "replication/store/format/status.h"

namespace rocksync {

using rocksdb::Status;

Status StreamReceiver::Run() {
  Replica* const replica = stream_->replica();
  const auto timeout = replica->options.io_timeout;
  wire_received_ = stream_->connection()->bytes_received();
  std::string message;
  while (true) {
    Status status = stream_->connection()->Receive(&message, timeout);
    if (!status.ok()) return status;
    const uint64_t wire = stream_->connection()->bytes_received();
    stream_->line()->Received(wire - std::exchange(wire_received_, wire));
    if (!replica->bytes.Pay(message.size(), timeout / 4, replica->stopped)) {
      return Status::Aborted("the replicator stops");
    }
    status = ToRocksDb(incoming_.Receive(message));
    if (!status.ok()) return status;
  }
}

}  // namespace rocksync
