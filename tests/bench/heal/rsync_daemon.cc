#include "tests/bench/heal/rsync_daemon.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace rocksync::bench {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// One that nobody listens on at this moment.
int FreePort() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  bind(listener, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  close(listener);
  return ntohs(address.sin_port);
}

bool Listens(int port) {
  const int dialer = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = Loopback(port);
  const bool listens =
      connect(dialer, reinterpret_cast<const sockaddr*>(&address),
              sizeof address) == 0;
  close(dialer);
  return listens;
}

bool SyncFileSystemOf(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY);
  const bool synced = fd >= 0 && syncfs(fd) == 0;
  if (fd >= 0) close(fd);
  return synced;
}

pid_t Spawn(std::vector<std::string> command) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  std::perror("rsync");
  _exit(127);
}

}  // namespace

std::optional<RsyncSeconds> TimeRsync(const std::string& from,
                                      const std::string& to,
                                      const std::string& scratch) {
  using Clock = std::chrono::steady_clock;
  const int port = FreePort();
  const std::string config = scratch + "/rsyncd.conf";
  std::ofstream(config) << "use chroot = no\n[db]\npath = " << from
                        << "\nread only = yes\n";
  const pid_t daemon =
      Spawn({"rsync", "--daemon", "--no-detach", "--address=127.0.0.1",
             "--port=" + std::to_string(port), "--config=" + config});
  for (int i = 0; i < 500 && !Listens(port); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const Clock::time_point start = Clock::now();
  int status = 0;
  waitpid(
      Spawn({"rsync", "-a",
             "rsync://127.0.0.1:" + std::to_string(port) + "/db/", to + "/"}),
      &status, 0);
  const auto seconds = [start] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  RsyncSeconds taken;
  taken.copied = seconds();
  const bool synced = SyncFileSystemOf(to);
  taken.synced = seconds();
  kill(daemon, SIGTERM);
  waitpid(daemon, nullptr, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::fprintf(stderr, "rsync of %s failed\n", from.c_str());
    return std::nullopt;
  }
  if (synced) return taken;
  std::perror(to.c_str());
  return std::nullopt;
}

}  // namespace rocksync::bench
