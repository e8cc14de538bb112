#include "examples/replicated_store/server.h"

#include <algorithm>
#include <array>
#include <asio.hpp>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "spdlog/spdlog.h"
#include "tools/http/open_files.h"

namespace rocksync {
namespace {

using asio::ip::tcp;

constexpr size_t kReadBytes = size_t{64} << 10;

// Replies to pipelined requests are sent when they hold this much, so that a
// client that asks without reading holds up itself and not our memory.
constexpr size_t kFlushBytes = size_t{1} << 20;

// Of what a client still sends when its connection ends; above the largest
// request.
constexpr uint64_t kDrainBytes = uint64_t{256} << 20;

// Of an unfinished request, whatever others hold.
constexpr uint64_t kFreeBytes = uint64_t{64} << 10;

class AsioServer : public Server {
 public:
  AsioServer(const ServerOptions& options, Commands* commands)
      : options_(options),
        commands_(commands),
        acceptor_(io_),
        slow_(options.slow_threads) {}

  ~AsioServer() override {
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
    slow_.stop();
    slow_.join();
  }

  rocksdb::Status Listen() {
    const std::string name =
        options_.host + ":" + std::to_string(options_.port);
    asio::error_code error;
    const auto address = asio::ip::make_address(options_.host, error);
    if (error) {
      return rocksdb::Status::InvalidArgument("--redis-host: not an IP address",
                                              options_.host);
    }
    const tcp::endpoint endpoint(address, options_.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) {
      acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    }
    if (!error) acceptor_.bind(endpoint, error);
    if (!error)
      acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      return rocksdb::Status::IOError(
          "cannot listen on " + name,
          error.message() + (error.value() == EADDRNOTAVAIL
                                 ? "; no interface of this machine has that "
                                   "address, correct --redis-host"
                                 : "; choose another --redis-port"));
    }
    port_ = acceptor_.local_endpoint(error).port();
    return rocksdb::Status::OK();
  }

  void Run() {
    asio::co_spawn(io_, Accept(), asio::detached);
    for (size_t i = 0; i < options_.threads; ++i) {
      threads_.emplace_back([this] { io_.run(); });
    }
  }

  uint16_t port() const override { return port_; }

 private:
  asio::awaitable<void> Accept() {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::seconds kBetweenWarnings{10};
    Clock::time_point warned{};
    for (;;) {
      asio::error_code error;
      tcp::socket socket(asio::make_strand(io_));
      co_await acceptor_.async_accept(
          socket, asio::redirect_error(asio::use_awaitable, error));
      if (error) {
        // Out of descriptors, say; the clients we have go on.
        if (Clock::now() - warned >= kBetweenWarnings) {
          warned = Clock::now();
          spdlog::warn("cannot accept a client: {}", error.message());
        }
        asio::steady_timer pause(io_, std::chrono::milliseconds(100));
        co_await pause.async_wait(
            asio::redirect_error(asio::use_awaitable, error));
        continue;
      }
      auto executor = socket.get_executor();
      asio::co_spawn(executor, Serve(std::move(socket)), asio::detached);
    }
  }

  asio::awaitable<void> Serve(tcp::socket socket) {
    const size_t connections = ++connections_;
    std::string reply;
    if (connections > max_connections_) {
      AppendError(&reply, "ERR max number of clients reached");
      co_await Send(&socket, &reply);
    } else {
      asio::error_code error;
      socket.set_option(tcp::no_delay(true), error);
      RespParser parser(options_.limits);
      std::vector<char> buffer(kReadBytes);
      uint64_t held = 0;
      for (;;) {
        const size_t size = co_await socket.async_read_some(
            asio::buffer(buffer),
            asio::redirect_error(asio::use_awaitable, error));
        if (error) break;
        if (!co_await Answer(&socket, &parser, {buffer.data(), size})) {
          co_await Drain(&socket, &buffer);
          break;
        }
        unfinished_ += parser.held_bytes() - held;  // or less: it wraps around
        held = parser.held_bytes();
        if (held > kFreeBytes && unfinished_ > options_.max_unfinished_bytes) {
          AppendError(&reply, "ERR unfinished requests hold " +
                                  std::to_string(unfinished_) + " bytes");
          co_await Send(&socket, &reply);
          parser = RespParser(options_.limits);
          unfinished_ -= std::exchange(held, 0);
          co_await Drain(&socket, &buffer);
          break;
        }
      }
      unfinished_ -= held;
    }
    --connections_;
  }

  // Ends a connection whose last reply is sent. A connection that is closed
  // with bytes unread is reset, and a client that still sends would see that
  // and no reply.
  asio::awaitable<void> Drain(tcp::socket* socket, std::vector<char>* buffer) {
    asio::error_code error;
    socket->shutdown(tcp::socket::shutdown_send, error);
    for (uint64_t drained = 0; !error && drained < kDrainBytes;) {
      drained += co_await socket->async_read_some(
          asio::buffer(*buffer),
          asio::redirect_error(asio::use_awaitable, error));
    }
  }

  // Executes the requests that `input` completes. False: end the connection.
  asio::awaitable<bool> Answer(tcp::socket* socket, RespParser* parser,
                               std::string_view input) {
    std::string reply;
    RespRequest request;
    bool open = true;
    while (open) {
      const size_t before = reply.size();
      const RespParser::Outcome outcome = parser->Next(&input, &request);
      if (outcome == RespParser::Outcome::kNeedMore) break;
      if (outcome == RespParser::Outcome::kError) {
        AppendError(&reply, "ERR Protocol error: " + parser->error());
        open = false;
      } else if (Commands::IsSlow(request)) {
        open = co_await asio::co_spawn(slow_, Execute(&request, &reply),
                                       asio::use_awaitable);
      } else {
        open = commands_->Execute(request, &reply);
      }
      if (reply.size() < kFlushBytes) continue;
      RefuseIfTooMuchIsUnsent(before, &reply);
      if (!co_await Send(socket, &reply)) co_return false;
    }
    co_return co_await Send(socket, &reply) && open;
  }

  asio::awaitable<bool> Execute(const RespRequest* request,
                                std::string* reply) {
    co_return commands_->Execute(*request, reply);
  }

  // What was appended after the first `before` bytes is one reply.
  void RefuseIfTooMuchIsUnsent(size_t before, std::string* reply) const {
    const uint64_t unsent = unsent_;
    if (reply->size() - before < kFlushBytes ||
        unsent + reply->size() <= options_.max_unsent_bytes) {
      return;
    }
    std::string rest = reply->substr(0, before);
    AppendError(&rest, "ERR replies that clients have not taken hold " +
                           std::to_string(unsent) +
                           " bytes; ask again once they have, or for less");
    *reply = std::move(rest);
  }

  // Sends and empties `*reply`.
  asio::awaitable<bool> Send(tcp::socket* socket, std::string* reply) {
    asio::error_code error;
    const uint64_t size = reply->size();
    unsent_ += size;
    co_await asio::async_write(
        *socket, asio::buffer(*reply),
        asio::redirect_error(asio::use_awaitable, error));
    unsent_ -= size;
    reply->clear();
    co_return !error;
  }

  const ServerOptions options_;
  const size_t max_connections_ =
      std::min(options_.max_connections, QuarterOfOpenFiles());
  Commands* const commands_;
  std::atomic<size_t> connections_{0};
  std::atomic<uint64_t> unfinished_{0};  // bytes
  std::atomic<uint64_t> unsent_{0};      // bytes
  uint16_t port_ = 0;
  asio::io_context io_;
  tcp::acceptor acceptor_;
  asio::thread_pool slow_;
  std::vector<std::thread> threads_;
};

}  // namespace

rocksdb::Status Server::Start(const ServerOptions& options, Commands* commands,
                              std::unique_ptr<Server>* server) {
  auto started = std::make_unique<AsioServer>(options, commands);
  const rocksdb::Status status = started->Listen();
  if (!status.ok()) return status;
  started->Run();
  *server = std::move(started);
  return status;
}

}  // namespace rocksync
