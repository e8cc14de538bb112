#include "examples/replicated_store/service_notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "gtest/gtest.h"

namespace rocksync {
namespace {

class ServiceNotify : public ::testing::Test {
 protected:
  ~ServiceNotify() override {
    unsetenv("NOTIFY_SOCKET");
    if (listening_ >= 0) close(listening_);
    std::filesystem::remove(path_);
  }

  // As systemd does: `name` is a path, or begins with @.
  void Listen(const std::string& name) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    ASSERT_LT(name.size(), sizeof address.sun_path);
    std::copy(name.begin(), name.end(), address.sun_path);
    if (name[0] == '@') address.sun_path[0] = '\0';
    listening_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    ASSERT_EQ(bind(listening_, reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                          name.size())),
              0);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  std::string Received() {
    std::array<char, 100> bytes;
    const ssize_t size = recv(listening_, bytes.data(), bytes.size(), 0);
    return size < 0 ? "nothing"
                    : std::string(bytes.data(), static_cast<size_t>(size));
  }

  const std::string path_ = (std::filesystem::temp_directory_path() /
                             ("rocksync_notify_" + std::to_string(getpid())))
                                .string();
  int listening_ = -1;
};

TEST_F(ServiceNotify, ByThePathOfASocket) {
  Listen(path_);
  EXPECT_TRUE(NotifyService("READY=1"));
  EXPECT_EQ(Received(), "READY=1");
}

TEST_F(ServiceNotify, ByAnAbstractName) {
  Listen("@rocksync_notify_" + std::to_string(getpid()));
  EXPECT_TRUE(NotifyService("STOPPING=1"));
  EXPECT_EQ(Received(), "STOPPING=1");
}

TEST_F(ServiceNotify, WhereNobodyAsksForItOrListens) {
  EXPECT_FALSE(NotifyService("READY=1"));
  setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  EXPECT_FALSE(NotifyService("READY=1"));
  setenv("NOTIFY_SOCKET", std::string(200, 'x').c_str(), 1);
  EXPECT_FALSE(NotifyService("READY=1"));
  setenv("NOTIFY_SOCKET", "", 1);
  EXPECT_FALSE(NotifyService("READY=1"));
}

}  // namespace
}  // namespace rocksync
