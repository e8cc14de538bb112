#include "tests/unit/replication/transport/raw_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "replication/transport/address.h"

namespace rocksync {
namespace {

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void LimitWaiting(int fd) {
  const timeval limit{5, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

// OpenSSL writes to sockets without MSG_NOSIGNAL: while this lives, a peer that
// has hung up is an error and no SIGPIPE of this thread.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    const timespec now{};
    while (::sigtimedwait(&pipe_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
};

}  // namespace

RawPeer::RawPeer(const std::string& address, int receive_buffer) {
  HostPort parsed;
  if (!ParseAddress(address, &parsed).ok()) return;
  const sockaddr_in to = Loopback(parsed.port);
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  LimitWaiting(fd_);
  if (receive_buffer > 0) {
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer,
                 sizeof receive_buffer);
  }
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

RawPeer::~RawPeer() {
  SSL_free(ssl_);
  SSL_CTX_free(ctx_);
  if (fd_ >= 0) ::close(fd_);
}

bool RawPeer::StartTls(const CertificateAndKey& own, int max_version) {
  ctx_ = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_max_proto_version(ctx_, max_version);
  if (own.key != nullptr) {
    SSL_CTX_use_certificate(ctx_, own.certificate.get());
    SSL_CTX_use_PrivateKey(ctx_, own.key.get());
  }
  ssl_ = SSL_new(ctx_);
  SSL_set_fd(ssl_, fd_);
  const bool connected = SSL_connect(ssl_) == 1;
  ERR_clear_error();
  return connected;
}

bool RawPeer::Write(std::string_view bytes) {
  const WithoutSigpipe quiet;
  while (!bytes.empty()) {
    const long wrote =
        ssl_ != nullptr
            ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
            : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

std::string RawPeer::Encrypt(std::string_view bytes) {
  BIO* const socket = SSL_get_wbio(ssl_);
  BIO_up_ref(socket);
  BIO* const memory = BIO_new(BIO_s_mem());
  SSL_set0_wbio(ssl_, memory);
  SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
  char* record = nullptr;
  const long size = BIO_get_mem_data(memory, &record);
  const std::string wire(record, static_cast<size_t>(size));
  SSL_set0_wbio(ssl_, socket);
  return wire;
}

bool RawPeer::WriteRaw(std::string_view bytes) {
  return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

std::string RawPeer::Read(size_t max) {
  std::string all;
  char buffer[4096];
  while (all.size() < max) {
    const size_t want = std::min(sizeof buffer, max - all.size());
    const long got = ssl_ != nullptr
                         ? SSL_read(ssl_, buffer, static_cast<int>(want))
                         : ::recv(fd_, buffer, want, 0);
    ERR_clear_error();
    if (got <= 0) break;
    all.append(buffer, static_cast<size_t>(got));
  }
  return all;
}

bool RawPeer::ClosedByPeer() {
  char byte;
  for (;;) {
    const ssize_t got = ::recv(fd_, &byte, 1, 0);
    if (got == 0) return true;
    if (got < 0) return errno == ECONNRESET;
  }
}

void RawPeer::Reset() {
  const linger hard{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  ::close(fd_);
  fd_ = -1;
}

struct RawListener::State {
  int fd = -1;
  uint16_t port = 0;
  std::thread thread;
};

RawListener::RawListener(std::function<void(int fd)> serve)
    : state_(std::make_unique<State>()) {
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  state_->fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::bind(state_->fd, reinterpret_cast<sockaddr*>(&address), size);
  ::listen(state_->fd, 8);
  ::getsockname(state_->fd, reinterpret_cast<sockaddr*>(&address), &size);
  state_->port = ntohs(address.sin_port);
  state_->thread = std::thread([fd = state_->fd, serve = std::move(serve)] {
    const int peer = ::accept(fd, nullptr, nullptr);
    if (peer < 0) return;
    LimitWaiting(peer);
    serve(peer);
    ::close(peer);
  });
}

RawListener::~RawListener() {
  ::shutdown(state_->fd, SHUT_RDWR);
  state_->thread.join();
  ::close(state_->fd);
}

std::string RawListener::address() const {
  return "127.0.0.1:" + std::to_string(state_->port);
}

}  // namespace rocksync
