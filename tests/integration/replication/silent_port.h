// A peer that says nothing.

#ifndef ROCKSYNC_TESTS_INTEGRATION_REPLICATION_SILENT_PORT_H_
#define ROCKSYNC_TESTS_INTEGRATION_REPLICATION_SILENT_PORT_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace rocksync {

// The system takes connections for it; nobody answers.
class SilentPort {
 public:
  SilentPort() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_, any, size), 0);
    EXPECT_EQ(::listen(socket_, 1000), 0);
    EXPECT_EQ(::getsockname(socket_, any, &size), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~SilentPort() { ::close(socket_); }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;

  const std::string& address() const { return address_; }

  // Somebody has connected, or does within half a minute.
  bool IsDialed() const {
    pollfd waiting{socket_, POLLIN, 0};
    return ::poll(&waiting, 1, 30'000) == 1;
  }

 private:
  const int socket_;
  std::string address_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_REPLICATION_SILENT_PORT_H_
