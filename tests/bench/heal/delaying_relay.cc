#include "tests/bench/heal/delaying_relay.h"

#include <algorithm>
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>
#include <cstdio>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace rocksync::bench {
namespace {

using asio::ip::tcp;
using LinkClock = std::chrono::steady_clock;

constexpr size_t kReadBytes = size_t{128} << 10;

// One direction of a link. A sender is let to run ahead by what the link holds
// in flight, and as much again; TCP holds it up beyond that.
class Direction : public std::enable_shared_from_this<Direction> {
 public:
  Direction(std::shared_ptr<tcp::socket> from, std::shared_ptr<tcp::socket> to,
            const LinkOptions& options)
      : from_(std::move(from)),
        to_(std::move(to)),
        options_(options),
        max_held_(2 * kReadBytes +
                  static_cast<size_t>(
                      2 * options.bytes_per_second *
                      std::chrono::duration<double>(options.one_way).count())),
        timer_(from_->get_executor()) {}

  void Start() { Read(); }

 private:
  struct Piece {
    std::vector<char> bytes;
    LinkClock::time_point due;
  };

  void Read() {
    if (reading_ || ended_ || held_ >= max_held_) return;
    reading_ = true;
    buffer_.resize(kReadBytes);
    from_->async_read_some(
        asio::buffer(buffer_),
        [self = shared_from_this()](const std::error_code& error, size_t size) {
          self->OnRead(error, size);
        });
  }

  void OnRead(const std::error_code& error, size_t size) {
    reading_ = false;
    if (error) {
      ended_ = true;
    } else {
      buffer_.resize(size);
      // The last byte has left the sender once the rate allows.
      free_ = std::max(free_, LinkClock::now()) +
              std::chrono::duration_cast<LinkClock::duration>(
                  std::chrono::duration<double>(static_cast<double>(size) /
                                                options_.bytes_per_second));
      held_ += size;
      pieces_.push_back({std::move(buffer_), free_ + options_.one_way});
      buffer_ = {};
    }
    Write();
    Read();
  }

  void Write() {
    if (writing_) return;
    if (pieces_.empty()) {
      if (!ended_) return;
      std::error_code ignored;
      to_->shutdown(tcp::socket::shutdown_send, ignored);
      return;
    }
    writing_ = true;
    timer_.expires_at(pieces_.front().due);
    timer_.async_wait([self = shared_from_this()](const std::error_code&) {
      asio::async_write(*self->to_, asio::buffer(self->pieces_.front().bytes),
                        [self](const std::error_code& error, size_t) {
                          self->OnWritten(error);
                        });
    });
  }

  void OnWritten(const std::error_code& error) {
    writing_ = false;
    held_ -= pieces_.front().bytes.size();
    pieces_.pop_front();
    if (error) {
      std::error_code ignored;
      from_->close(ignored);
      pieces_.clear();
      ended_ = true;
      return;
    }
    Write();
    Read();
  }

  const std::shared_ptr<tcp::socket> from_;
  const std::shared_ptr<tcp::socket> to_;
  const LinkOptions options_;
  const size_t max_held_;
  asio::steady_timer timer_;
  std::vector<char> buffer_;
  std::deque<Piece> pieces_;
  size_t held_ = 0;
  LinkClock::time_point free_;  // when the link has sent all that it was given
  bool reading_ = false;
  bool writing_ = false;
  bool ended_ = false;
};

class RelayImpl final : public DelayingRelay {
 public:
  RelayImpl(const tcp::endpoint& target, const LinkOptions& options)
      : target_(target),
        options_(options),
        acceptor_(context_, tcp::endpoint(tcp::v4(), 0)) {
    Accept();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~RelayImpl() override {
    context_.stop();
    thread_.join();
  }

  std::string address() const override {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }

 private:
  void Accept() {
    auto near = std::make_shared<tcp::socket>(context_);
    acceptor_.async_accept(*near, [this, near](const std::error_code& error) {
      if (error) return;
      auto far = std::make_shared<tcp::socket>(context_);
      std::error_code failed;
      far->connect(target_, failed);
      if (!failed) {
        near->set_option(tcp::no_delay(true), failed);
        far->set_option(tcp::no_delay(true), failed);
        std::make_shared<Direction>(near, far, options_)->Start();
        std::make_shared<Direction>(far, near, options_)->Start();
      }
      Accept();
    });
  }

  const tcp::endpoint target_;
  const LinkOptions options_;
  asio::io_context context_;
  tcp::acceptor acceptor_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<DelayingRelay> NewDelayingRelay(const std::string& target,
                                                const LinkOptions& options) {
  const auto port = static_cast<unsigned short>(
      std::stoul(target.substr(target.rfind(':') + 1)));
  try {
    return std::make_unique<RelayImpl>(
        tcp::endpoint(asio::ip::address_v4::loopback(), port), options);
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "relay: %s\n", error.what());
    return nullptr;
  }
}

}  // namespace rocksync::bench
