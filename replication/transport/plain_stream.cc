// ByteStream over plain TCP. The dialer's first bytes are a preamble that says
// so, so that neither side takes plain TCP for TLS or the reverse.

#include <array>
#include <asio/error.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <string_view>
#include <utility>

#include "replication/transport/byte_stream.h"
#include "replication/transport/greeting.h"

namespace rocksync {
namespace {

using Socket = asio::ip::tcp::socket;

class PlainStream : public ByteStream {
 public:
  explicit PlainStream(asio::io_context* context) : socket_(*context) {}

  Socket& socket() override { return socket_; }

  void Handshake(Side side, Handler handler) override {
    if (side == Side::kDialer) {
      preamble_ok_ = true;
      asio::async_write(socket_, asio::buffer(kPlaintextPreamble),
                        Counting(&sent_, std::move(handler)));
      return;
    }
    asio::async_read(socket_, asio::buffer(preamble_),
                     [this, handler = std::move(handler)](
                         const std::error_code& error, size_t size) {
                       received_ += size;
                       preamble_ok_ =
                           std::string_view(preamble_.data(), size) ==
                           kPlaintextPreamble;
                       handler(error, size);
                     });
  }

  rocksdb::Status IdentifyPeer(const std::string& peer,
                               uint64_t* replica_id) const override {
    *replica_id = 0;
    if (preamble_ok_) return rocksdb::Status::OK();
    return rocksdb::Status::NotSupported(
        peer + " does not begin as a plaintext replica does",
        "it sent no greeting: it speaks TLS, or refuses this replica");
  }

  void ReadSome(asio::mutable_buffer buffer, Handler handler) override {
    socket_.async_read_some(buffer, Counting(&received_, std::move(handler)));
  }

  void WriteSome(asio::const_buffer bytes, Handler handler) override {
    socket_.async_write_some(bytes, Counting(&sent_, std::move(handler)));
  }

  uint64_t wire_bytes_sent() const override { return sent_; }
  uint64_t wire_bytes_received() const override { return received_; }

  rocksdb::Status Describe(const std::error_code& error,
                           const std::string& peer) const override {
    return DescribeSocketError(error, peer);
  }

  std::string HintOnRefusal() const override {
    return "it sent no greeting: it speaks TLS, or refuses this replica";
  }

 private:
  static Handler Counting(uint64_t* bytes, Handler handler) {
    return [bytes, handler = std::move(handler)](const std::error_code& error,
                                                 size_t size) {
      *bytes += size;
      handler(error, size);
    };
  }

  Socket socket_;
  std::array<char, kPlaintextPreamble.size()> preamble_{};
  bool preamble_ok_ = false;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
};

}  // namespace

std::unique_ptr<ByteStream> NewPlainStream(asio::io_context* context) {
  return std::make_unique<PlainStream>(context);
}

rocksdb::Status DescribeSocketError(const std::error_code& error,
                                    const std::string& peer) {
  if (error == asio::error::eof) {
    return rocksdb::Status::IOError(peer + " closed the connection");
  }
  if (error == asio::error::operation_aborted) {
    return rocksdb::Status::Aborted("connection with " + peer + " closed");
  }
  return rocksdb::Status::IOError("connection with " + peer, error.message());
}

}  // namespace rocksync
