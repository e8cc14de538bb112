#include "replication/transport/socket_transport.h"

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <asio/dispatch.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <future>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "replication/transport/address.h"
#include "replication/transport/live_streams.h"
#include "replication/transport/socket_connection.h"
#include "replication/transport/socket_opening.h"
#include "rocksync/max_duration.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;

constexpr milliseconds kCancelPoll{50};
constexpr milliseconds kAcceptRetry{100};  // after errors, e.g. no descriptors
constexpr size_t kMaxAccepted = 64;        // until SetMaxAccepted is called

using AcceptCallback = std::function<void(std::unique_ptr<Connection>)>;

// The result of a SocketOpening, for which Connect waits.
struct DialResult {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  rocksdb::Status status;
  std::unique_ptr<Connection> connection;

  void Set(const rocksdb::Status& s, std::unique_ptr<Connection> made) {
    {
      const std::lock_guard lock(mutex);
      done = true;
      status = s;
      connection = std::move(made);
    }
    changed.notify_all();
  }
};

class SocketTransport : public Transport {
 public:
  explicit SocketTransport(const SocketTransportOptions& options)
      : options_(options),
        work_(context_->get_executor()),
        acceptor_(*context_),
        accept_retry_(*context_),
        sweep_(*context_) {
    StartThread();
    asio::post(*context_, [this] { Sweep(); });
  }

  ~SocketTransport() override;

  rocksdb::Status Connect(const std::string& address, milliseconds timeout,
                          const std::function<bool()>& cancelled,
                          std::unique_ptr<Connection>* connection) override;
  rocksdb::Status CheckAddress(const std::string& address) const override;
  rocksdb::Status Listen(const std::string& address,
                         AcceptCallback accept) override;
  std::string listen_address() const override;
  uint64_t replica_id() const override { return options_.replica_id; }
  CertificateState certificate() const override {
    return options_.certificate ? options_.certificate() : CertificateState();
  }
  void SetLogger(std::shared_ptr<rocksdb::Logger> logger) override {
    if (options_.set_logger) options_.set_logger(std::move(logger));
  }
  void SetMaxAccepted(size_t connections) override {
    max_accepted_ = connections;
  }
  void StopListening() override;

  // Returns false in a child of fork. The child lacks the transport's thread,
  // and shares with its parent what the system watches for the transport.
  bool InItsProcess() const { return ::getpid() == process_; }

 private:
  rocksdb::Status CheckProcess() const;

  // The following run on the transport's thread only, except StartThread and
  // OnThread.
  void StartThread();
  rocksdb::Status Bind(const std::string& address);
  rocksdb::Status OnThread(const std::function<void()>& task);

  std::shared_ptr<SocketOpening> StartDial(
      const HostPort& host_port, const std::string& address,
      milliseconds timeout, const std::shared_ptr<DialResult>& result);
  void AcceptNext();
  void AcceptLater();
  void OnAccept(const std::error_code& error, tcp::socket socket);
  void StartAccept(std::unique_ptr<ByteStream> bytes);
  void OnAccepted(const rocksdb::Status& status,
                  std::shared_ptr<FrameStream> stream, uint64_t replica_id);
  rocksdb::Status Admit(uint64_t replica_id, const std::string& peer) const;
  rocksdb::Status AdmitAccepted(uint64_t replica_id, const std::string& peer);
  void DropOldestHandshakes();
  void StopAccepting();
  void Sweep();
  void Shut();

  const pid_t process_ = ::getpid();
  const SocketTransportOptions options_;
  std::atomic<size_t> max_accepted_{kMaxAccepted};
  const std::shared_ptr<asio::io_context> context_ =
      std::make_shared<asio::io_context>(1);
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  tcp::acceptor acceptor_;
  asio::steady_timer accept_retry_;
  asio::steady_timer sweep_;
  LiveStreams live_;
  std::list<std::weak_ptr<SocketOpening>> dialing_;
  std::list<std::weak_ptr<SocketOpening>>
      handshakes_;  // accepted ones, oldest first
  AcceptCallback accept_;
  bool shut_ = false;

  mutable std::mutex mutex_;
  std::string listen_address_;
  std::thread thread_;
};

void ForgetExpired(std::list<std::weak_ptr<SocketOpening>>* openings) {
  openings->remove_if([](const auto& opening) { return opening.expired(); });
}

void AbortAll(std::list<std::weak_ptr<SocketOpening>>* openings,
              const rocksdb::Status& why) {
  for (const std::weak_ptr<SocketOpening>& weak :
       std::exchange(*openings, {})) {
    if (const auto opening = weak.lock()) opening->Abort(why);
  }
}

std::string PeerNameOf(const tcp::socket& socket) {
  std::error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return "an unknown peer";
  return FormatAddress({peer.address().to_string(), peer.port()});
}

// Runs the transport's thread. A handler that runs out of memory or descriptors
// loses its connection, whose deadline then passes; the transport goes on.
void RunThread(asio::io_context* context) {
  for (;;) {
    try {
      context->run();
      return;
    } catch (const std::exception&) {
    }
  }
}

// Starts the thread with all signals blocked: the application's signals are for
// its own threads.
void SocketTransport::StartThread() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([context = context_] { RunThread(context.get()); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Runs a task on the transport's thread and waits for it. Returns IOError if
// the task threw, as for want of memory or of a thread that resolves names.
rocksdb::Status SocketTransport::OnThread(const std::function<void()>& task) {
  // Shared: this call may return while set_value still works on it.
  const auto done = std::make_shared<std::promise<rocksdb::Status>>();
  asio::dispatch(*context_, [&task, done] {
    rocksdb::Status status;
    try {
      task();
    } catch (const std::exception& error) {
      status = rocksdb::Status::IOError(
          "rocksync: the transport lacks memory or a thread", error.what());
    }
    done->set_value(status);
  });
  return done->get_future().get();
}

rocksdb::Status SocketTransport::CheckProcess() const {
  if (InItsProcess()) return rocksdb::Status::OK();
  return rocksdb::Status::NotSupported(
      "rocksync: this transport was made in the process that this one was "
      "forked from, and its thread is not here",
      "make one after the fork");
}

SocketTransport::~SocketTransport() {
  OnThread([this] { Shut(); }).PermitUncheckedError();
  work_.reset();
  thread_.join();
}

void SocketTransport::Shut() {
  const auto gone = rocksdb::Status::Aborted("the transport was closed");
  StopAccepting();
  shut_ = true;
  sweep_.cancel();
  AbortAll(&dialing_, gone);
  live_.CloseAll(gone);
}

rocksdb::Status SocketTransport::Admit(uint64_t replica_id,
                                       const std::string& peer) const {
  if (options_.allow == nullptr || options_.allow(replica_id, peer)) {
    return rocksdb::Status::OK();
  }
  return rocksdb::Status::InvalidArgument(
      "the allow hook refuses replica " + ReplicaIdHex(replica_id),
      peer + "; see TlsTransportOptions::allow");
}

rocksdb::Status SocketTransport::AdmitAccepted(uint64_t replica_id,
                                               const std::string& peer) {
  if (rocksdb::Status s = Admit(replica_id, peer); !s.ok()) return s;
  const size_t fixed = options_.limits.max_connections;
  const size_t most = fixed > 0 ? fixed : max_accepted_.load();
  if (live_.CountAccepted() < most) return rocksdb::Status::OK();
  return rocksdb::Status::Busy(
      "all " + std::to_string(most) + " connections are taken; raise " +
      (fixed > 0 ? "SocketLimits::max_connections" : "max_accepted") +
      " of the replica that says so");
}

rocksdb::Status SocketTransport::Connect(
    const std::string& address, milliseconds timeout,
    const std::function<bool()>& cancelled,
    std::unique_ptr<Connection>* connection) {
  HostPort host_port;
  rocksdb::Status s = CheckProcess();
  if (s.ok()) s = ParseAddress(address, &host_port);
  if (!s.ok()) return s;
  const auto result = std::make_shared<DialResult>();
  std::weak_ptr<SocketOpening> opening;
  s = OnThread(
      [&] { opening = StartDial(host_port, address, timeout, result); });
  if (!s.ok()) return s;

  std::unique_lock lock(result->mutex);
  while (!result->changed.wait_for(lock, kCancelPoll,
                                   [&] { return result->done; })) {
    if (cancelled == nullptr || !cancelled()) continue;
    asio::post(*context_, [opening] {
      if (const auto live = opening.lock()) {
        live->Abort(rocksdb::Status::Aborted("connecting was cancelled"));
      }
    });
    return rocksdb::Status::Aborted("connecting to " + address +
                                    " was cancelled");
  }
  *connection = std::move(result->connection);
  return result->status;
}

rocksdb::Status SocketTransport::CheckAddress(
    const std::string& address) const {
  return CheckHostPort(address);
}

std::shared_ptr<SocketOpening> SocketTransport::StartDial(
    const HostPort& host_port, const std::string& address, milliseconds timeout,
    const std::shared_ptr<DialResult>& result) {
  std::unique_ptr<ByteStream> bytes;
  try {
    bytes = options_.new_stream(context_.get());
  } catch (const std::exception& e) {
    result->Set(rocksdb::Status::Aborted("connecting to " + address, e.what()),
                nullptr);
    return nullptr;
  }
  const auto opening = std::make_shared<SocketOpening>(
      context_.get(), std::move(bytes), address, timeout,
      [this](uint64_t id, const std::string& peer) { return Admit(id, peer); },
      [this, result](const rocksdb::Status& status,
                     std::shared_ptr<FrameStream> stream, uint64_t id) {
        if (!status.ok()) return result->Set(status, nullptr);
        live_.Add(stream, /*accepted=*/false);
        result->Set(status, NewSocketConnection(context_, stream, id));
      });
  ForgetExpired(&dialing_);
  dialing_.push_back(opening);
  opening->Dial(host_port);
  return opening;
}

rocksdb::Status SocketTransport::Bind(const std::string& address) {
  HostPort host_port;
  rocksdb::Status s = ParseAddress(address, &host_port);
  if (!s.ok()) return s;
  std::error_code error;
  tcp::resolver resolver(*context_);
  const auto endpoints =
      resolver.resolve(host_port.host, std::to_string(host_port.port),
                       tcp::resolver::passive, error);
  const auto failed = [&] {
    std::string remedy;
    if (error == asio::error::address_in_use) {
      remedy = "; another program listens there, choose another port";
    } else if (error.value() == EADDRNOTAVAIL) {  // asio has no name for it
      remedy = "; no interface of this machine has that address";
    } else if (error == asio::error::host_not_found) {
      remedy = "; correct the name, or write an IP address";
    }
    return rocksdb::Status::IOError("cannot listen on " + address,
                                    error.message() + remedy);
  };
  if (error) return failed();
  const tcp::endpoint endpoint = endpoints.begin()->endpoint();
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error)
    acceptor_.listen(asio::socket_base::max_listen_connections, error);
  tcp::endpoint bound;
  if (!error) bound = acceptor_.local_endpoint(error);
  if (error) {
    std::error_code ignored;
    acceptor_.close(ignored);
    return failed();
  }
  const std::lock_guard lock(mutex_);
  listen_address_ = FormatAddress({bound.address().to_string(), bound.port()});
  return s;
}

rocksdb::Status SocketTransport::Listen(const std::string& address,
                                        AcceptCallback accept) {
  rocksdb::Status s = CheckProcess();
  if (!s.ok()) return s;
  if (!listen_address().empty()) {
    return rocksdb::Status::InvalidArgument("already listening on " +
                                            listen_address());
  }
  const rocksdb::Status ran = OnThread([&] {
    s = Bind(address);
    if (!s.ok()) return;
    accept_ = std::move(accept);
    AcceptNext();
  });
  return ran.ok() ? s : ran;
}

std::string SocketTransport::listen_address() const {
  const std::lock_guard lock(mutex_);
  return listen_address_;
}

void SocketTransport::StopListening() {
  if (!InItsProcess()) return;
  OnThread([this] { StopAccepting(); }).PermitUncheckedError();
}

void SocketTransport::StopAccepting() {
  accept_ = nullptr;
  accept_retry_.cancel();
  std::error_code ignored;
  acceptor_.close(ignored);
  {
    const std::lock_guard lock(mutex_);
    listen_address_.clear();
  }
  AbortAll(&handshakes_, rocksdb::Status::Aborted("no longer listening"));
}

void SocketTransport::AcceptNext() {
  if (!acceptor_.is_open()) return;
  acceptor_.async_accept(
      [this](const std::error_code& error, tcp::socket socket) {
        OnAccept(error, std::move(socket));
      });
}

void SocketTransport::OnAccept(const std::error_code& error,
                               tcp::socket socket) {
  if (!acceptor_.is_open()) return;
  if (error) return AcceptLater();
  // The stream is made now, and not before the connection came: certificates
  // may have been renewed meanwhile.
  std::unique_ptr<ByteStream> bytes;
  try {
    bytes = options_.new_stream(context_.get());
  } catch (const std::exception&) {
    return AcceptLater();
  }
  bytes->socket() = std::move(socket);
  StartAccept(std::move(bytes));
  AcceptNext();
}

void SocketTransport::AcceptLater() {
  accept_retry_.expires_after(kAcceptRetry);
  accept_retry_.async_wait([this](const std::error_code& cancelled) {
    if (!cancelled) AcceptNext();
  });
}

void SocketTransport::StartAccept(std::unique_ptr<ByteStream> bytes) {
  DropOldestHandshakes();
  const std::string peer = PeerNameOf(bytes->socket());
  const auto opening = std::make_shared<SocketOpening>(
      context_.get(), std::move(bytes), peer, options_.limits.handshake_timeout,
      [this](uint64_t id, const std::string& name) {
        return AdmitAccepted(id, name);
      },
      [this](const rocksdb::Status& status, std::shared_ptr<FrameStream> stream,
             uint64_t id) { OnAccepted(status, std::move(stream), id); });
  handshakes_.push_back(opening);
  opening->Accept();
}

void SocketTransport::DropOldestHandshakes() {
  ForgetExpired(&handshakes_);
  while (handshakes_.size() >= options_.limits.max_handshakes) {
    const std::shared_ptr<SocketOpening> oldest = handshakes_.front().lock();
    handshakes_.pop_front();
    if (oldest == nullptr) continue;
    oldest->Abort(rocksdb::Status::Busy(
        "a handshake was dropped: more than " +
        std::to_string(options_.limits.max_handshakes) + " at once"));
  }
}

void SocketTransport::OnAccepted(const rocksdb::Status& status,
                                 std::shared_ptr<FrameStream> stream,
                                 uint64_t replica_id) {
  if (!status.ok()) {
    if (options_.refused != nullptr && !status.IsAborted()) {
      options_.refused(status);
    }
    return;
  }
  const AcceptCallback accept = accept_;  // its own call may clear accept_
  if (accept == nullptr) {
    return stream->Close(rocksdb::Status::Aborted("no longer listening"));
  }
  live_.Add(stream, /*accepted=*/true);
  accept(NewSocketConnection(context_, std::move(stream), replica_id));
}

void SocketTransport::Sweep() {
  // A timer that has expired cannot be cancelled any more: its handler may be
  // queued behind Shut.
  if (shut_) return;
  live_.CloseIdle(options_.limits.idle_timeout);
  sweep_.expires_after(std::clamp(options_.limits.idle_timeout / 4,
                                  milliseconds(10), milliseconds(5000)));
  sweep_.async_wait([this](const std::error_code& cancelled) {
    if (!cancelled) Sweep();
  });
}

rocksdb::Status CheckDuration(const char* limit, milliseconds value) {
  if (value > milliseconds(0) && value <= kMaxDuration) {
    return rocksdb::Status::OK();
  }
  return rocksdb::Status::InvalidArgument(
      std::string("SocketLimits::") + limit + " is " +
          std::to_string(value.count()) + " ms",
      "choose 1 to " + std::to_string(kMaxDuration.count()) + " ms (a year)");
}

rocksdb::Status CheckLimits(const SocketLimits& limits) {
  const auto wrong = [](const char* name) {
    return rocksdb::Status::InvalidArgument(std::string("SocketLimits::") +
                                            name + " must be above 0");
  };
  if (limits.max_handshakes == 0) return wrong("max_handshakes");
  rocksdb::Status s =
      CheckDuration("handshake_timeout", limits.handshake_timeout);
  return s.ok() ? CheckDuration("idle_timeout", limits.idle_timeout) : s;
}

}  // namespace

rocksdb::Status NewSocketTransport(const SocketTransportOptions& options,
                                   std::shared_ptr<Transport>* transport) {
  rocksdb::Status s = CheckLimits(options.limits);
  if (!s.ok()) return s;
  try {
    // In a child of fork the transport is leaked: closing there what the
    // parent's transport watches would end the parent's watches.
    transport->reset(new SocketTransport(options), [](SocketTransport* made) {
      if (made->InItsProcess()) delete made;
    });
  } catch (const std::exception& e) {
    return rocksdb::Status::Aborted("cannot start the transport", e.what());
  }
  return s;
}

}  // namespace rocksync
