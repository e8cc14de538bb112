// A connection whose peer says what a fuzzer's input says, whatever is said to
// it.

#ifndef ROCKSYNC_TESTS_FUZZ_FED_CONNECTION_H_
#define ROCKSYNC_TESTS_FUZZ_FED_CONNECTION_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "rocksync/transport.h"
#include "sketch/element/coding.h"

namespace rocksync {

// One thread may receive while another sends.
class FedConnection : public Connection {
 public:
  // `input`: frames, each a length (2) and its bytes, which come after those of
  // `before`, as long as that returns some.
  FedConnection(std::string_view input,
                std::function<std::string(const std::string& said)> before = {})
      : input_(input), before_(std::move(before)) {}

  rocksdb::Status Send(const rocksdb::Slice& frame,
                       std::chrono::milliseconds) override {
    if (closed_) return rocksdb::Status::Aborted("closed");
    if (said_.empty()) said_ = frame.ToString();
    ++sent_;
    return rocksdb::Status::OK();
  }

  rocksdb::Status Receive(std::string* frame,
                          std::chrono::milliseconds timeout) override {
    if (closed_) return rocksdb::Status::Aborted("closed");
    // The input comes in turns.
    if (timeout.count() == 0) return rocksdb::Status::TimedOut("not its turn");
    if (before_) {
      *frame = before_(said_);
      if (!frame->empty()) return rocksdb::Status::OK();
      before_ = nullptr;
    }
    uint16_t size = 0;
    if (!GetFixed16(&input_, &size)) {
      AwaitAnswers();
      return rocksdb::Status::IOError("it has hung up");
    }
    std::string_view bytes = input_.substr(0, size);
    input_.remove_prefix(bytes.size());
    frame->assign(bytes);
    return bytes.empty() ? rocksdb::Status::Corruption("an empty frame")
                         : rocksdb::Status::OK();
  }

  // The first frame that was sent to it.
  const std::string& said() const { return said_; }

  void SetFrameLimit(size_t) override {}
  uint64_t peer_replica_id() const override { return 0; }
  std::string peer_name() const override { return "fuzzer"; }
  uint64_t bytes_sent() const override { return 0; }
  uint64_t bytes_received() const override { return 0; }
  void Close() override { closed_ = true; }

 private:
  // Who hangs up at once is told nothing.
  void AwaitAnswers() const {
    uint64_t before = 0;
    do {
      before = sent_;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    } while (!closed_ && sent_ != before);
  }

  std::string_view input_;
  std::function<std::string(const std::string&)> before_;
  std::string said_;  // the first frame
  std::atomic<uint64_t> sent_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_FUZZ_FED_CONNECTION_H_
