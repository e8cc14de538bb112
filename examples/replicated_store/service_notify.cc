#include "examples/replicated_store/service_notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace rocksync {

bool NotifyService(const std::string& state) {
  const char* const named = std::getenv("NOTIFY_SOCKET");
  if (named == nullptr) return false;
  const std::string_view path = named;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() < 2 || path.size() >= sizeof address.sun_path) return false;
  std::copy(path.begin(), path.end(), address.sun_path);
  if (path.front() == '@') address.sun_path[0] = '\0';
  const int to = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (to < 0) return false;
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const ssize_t sent =
      sendto(to, state.data(), state.size(), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address), size);
  close(to);
  return sent == static_cast<ssize_t>(state.size());
}

}  // namespace rocksync
