#include "replication/peering/stream_sender.h"

#include "absl/status/status.h"

namespace rocksync {

rocksdb::Status StreamSender::Run() {
  outgoing_.Begin();
  while (!stream_->ended()) {
    stream_->Wait(outgoing_.NextDueMs(),
                  /*ignore_changes=*/outgoing_.Window() == 0);
    if (stream_->ended()) break;
    const absl::Status status = outgoing_.Step();
    stream_->NoteLag();
    if (!status.ok()) return stream_->WhySendingEnds(status);
  }
  return rocksdb::Status::OK();
}

}  // namespace rocksync
