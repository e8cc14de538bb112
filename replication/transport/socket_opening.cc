#include "replication/transport/socket_opening.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <asio/connect.hpp>
#include <asio/error.hpp>
#include <asio/ip/address.hpp>
#include <utility>

#include "replication/transport/greeting.h"

namespace rocksync {
namespace {

// A socket option in Asio's form: how many bytes the system takes that TCP
// cannot send yet. By default it takes megabytes, which a slow link carries for
// minutes, and an answer that a peer waits for would be behind them.
class UnsentLimit {
 public:
  template <typename Protocol>
  int level(const Protocol&) const {
    return IPPROTO_TCP;
  }
  template <typename Protocol>
  int name(const Protocol&) const {
    return TCP_NOTSENT_LOWAT;
  }
  template <typename Protocol>
  const void* data(const Protocol&) const {
    return &bytes_;
  }
  template <typename Protocol>
  size_t size(const Protocol&) const {
    return sizeof bytes_;
  }

 private:
  int bytes_ = 256 << 10;
};

rocksdb::Status DescribeConnectError(const std::error_code& error,
                                     const std::string& peer) {
  std::string advice;
  if (error == asio::error::connection_refused) {
    advice = "; is the replica running?";
  } else if (error == asio::error::host_not_found) {
    advice = "; correct the name, or write an IP address";
  }
  return rocksdb::Status::IOError("cannot connect to " + peer,
                                  error.message() + advice);
}

}  // namespace

SocketOpening::SocketOpening(asio::io_context* context,
                             std::unique_ptr<ByteStream> bytes,
                             std::string peer_name,
                             std::chrono::milliseconds timeout, Admit admit,
                             Done done)
    : resolver_(*context),
      deadline_(*context),
      stream_(std::make_shared<FrameStream>(std::move(bytes),
                                            std::move(peer_name))),
      timeout_(timeout),
      admit_(std::move(admit)),
      done_(std::move(done)) {}

void SocketOpening::StartDeadline() {
  deadline_.expires_after(timeout_);
  deadline_.async_wait(
      [self = shared_from_this()](const std::error_code& cancelled) {
        if (cancelled) return;
        self->Finish(rocksdb::Status::TimedOut(
            "no connection with " + self->stream_->peer_name() + " within " +
                std::to_string(self->timeout_.count()) + " ms",
            "is its process stopped, or a firewall between the two?"));
      });
}

void SocketOpening::Dial(const HostPort& address) {
  StartDeadline();
  std::error_code not_numeric;
  const asio::ip::address numeric =
      asio::ip::make_address(address.host, not_numeric);
  if (!not_numeric) {
    return Connect(Endpoints::create(
        asio::ip::tcp::endpoint(numeric, address.port), address.host, ""));
  }
  resolver_.async_resolve(
      address.host, std::to_string(address.port),
      [self = shared_from_this()](const std::error_code& error,
                                  const Endpoints& endpoints) {
        if (error) {
          return self->Finish(
              DescribeConnectError(error, self->stream_->peer_name()));
        }
        self->Connect(endpoints);
      });
}

void SocketOpening::Connect(const Endpoints& endpoints) {
  if (done_ == nullptr) return;
  asio::async_connect(
      stream_->bytes().socket(), endpoints,
      [self = shared_from_this()](const std::error_code& error,
                                  const asio::ip::tcp::endpoint&) {
        if (error) {
          return self->Finish(
              DescribeConnectError(error, self->stream_->peer_name()));
        }
        self->Handshake(Side::kDialer);
      });
}

void SocketOpening::Accept() {
  StartDeadline();
  Handshake(Side::kListener);
}

void SocketOpening::Handshake(Side side) {
  if (done_ == nullptr) return;
  std::error_code ignored;  // the options are not essential
  stream_->bytes().socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  stream_->bytes().socket().set_option(UnsentLimit(), ignored);
  stream_->bytes().socket().set_option(asio::socket_base::keep_alive(true),
                                       ignored);
  stream_->bytes().Handshake(side, [self = shared_from_this(), side](
                                       const std::error_code& error, size_t) {
    self->OnHandshake(side, error);
  });
}

void SocketOpening::OnHandshake(Side side, const std::error_code& error) {
  if (done_ == nullptr) return;
  const std::string& peer = stream_->peer_name();
  if (error) return Finish(stream_->bytes().Describe(error, peer));
  rocksdb::Status verdict = stream_->bytes().IdentifyPeer(peer, &replica_id_);
  if (verdict.ok()) verdict = admit_(replica_id_, peer);
  if (side == Side::kListener) return Greet(verdict);
  if (!verdict.ok()) return Finish(verdict);
  AwaitGreeting();
}

void SocketOpening::AwaitGreeting() {
  stream_->Read({}, [self = shared_from_this()](const rocksdb::Status& status,
                                                const std::string& body) {
    if (self->done_ == nullptr) return;
    const std::string& peer = self->stream_->peer_name();
    if (status.ok()) return self->Finish(DecodeGreeting(body, peer));
    const std::string hint = self->stream_->bytes().HintOnRefusal();
    self->Finish(hint.empty()
                     ? status
                     : rocksdb::Status::IOError(status.getState(), hint));
  });
}

void SocketOpening::Greet(const rocksdb::Status& verdict) {
  stream_->Write(EncodeGreeting(verdict), [self = shared_from_this(), verdict](
                                              const rocksdb::Status& written) {
    self->Finish(verdict.ok() ? written : verdict);
  });
}

void SocketOpening::Finish(const rocksdb::Status& status) {
  if (done_ == nullptr) return;
  const Done done = std::exchange(done_, nullptr);
  deadline_.cancel();
  resolver_.cancel();
  if (!status.ok()) stream_->Close(status);
  done(status, status.ok() ? stream_ : nullptr, replica_id_);
}

}  // namespace rocksync
