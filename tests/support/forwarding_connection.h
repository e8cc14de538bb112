// A connection that passes everything on to another one; what a test changes,
// it overrides.

#ifndef ROCKSYNC_TESTS_SUPPORT_FORWARDING_CONNECTION_H_
#define ROCKSYNC_TESTS_SUPPORT_FORWARDING_CONNECTION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "rocksync/transport.h"

namespace rocksync {

class ForwardingConnection : public Connection {
 public:
  explicit ForwardingConnection(std::unique_ptr<Connection> base)
      : base_(std::move(base)) {}

  rocksdb::Status Send(const rocksdb::Slice& frame,
                       std::chrono::milliseconds timeout) override {
    return base_->Send(frame, timeout);
  }
  rocksdb::Status Receive(std::string* frame,
                          std::chrono::milliseconds timeout) override {
    return base_->Receive(frame, timeout);
  }
  void SetFrameLimit(size_t bytes) override { base_->SetFrameLimit(bytes); }
  void SetFrameTimeout(std::chrono::milliseconds time) override {
    base_->SetFrameTimeout(time);
  }
  void SetPeerSendsUnasked() override { base_->SetPeerSendsUnasked(); }
  uint64_t peer_replica_id() const override { return base_->peer_replica_id(); }
  std::string peer_name() const override { return base_->peer_name(); }
  uint64_t bytes_sent() const override { return base_->bytes_sent(); }
  uint64_t bytes_received() const override { return base_->bytes_received(); }
  void Close() override { base_->Close(); }
  bool WhenReceivable(std::function<void()> come) override {
    return base_->WhenReceivable(std::move(come));
  }

 private:
  const std::unique_ptr<Connection> base_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_FORWARDING_CONNECTION_H_
