#include "examples/demo/cluster.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <fstream>
#include <random>
#include <thread>
#include <utility>

#include "examples/demo/redis_client.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kStartTimeout{60};
constexpr seconds kStopTimeout{30};
constexpr milliseconds kPoll{20};

// Below those that systems give to connections and to whoever listens on port
// 0, so that no other program gets one before its replica listens.
constexpr uint16_t kLowestPort = 15'000;
constexpr uint16_t kHighestPort = 31'999;
constexpr int kTries = 1'000;

// A socket that holds the port, or -1: somebody else has it.
int HoldPort(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || ::bind(fd, generic, sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

// Ports that nobody uses now. All are held until all are found, so that no two
// are the same.
Status FindFreePorts(size_t count, std::vector<uint16_t>* ports) {
  std::random_device random;
  std::uniform_int_distribution<uint16_t> any(kLowestPort, kHighestPort);
  std::vector<int> held;
  for (int i = 0; i < kTries && held.size() < count; ++i) {
    const uint16_t port = any(random);
    const int fd = HoldPort(port);
    if (fd < 0) continue;
    held.push_back(fd);
    ports->push_back(port);
  }
  for (const int fd : held) ::close(fd);
  if (held.size() == count) return Status::OK();
  return Status::IOError("no free ports on 127.0.0.1 between " +
                             std::to_string(kLowestPort) + " and " +
                             std::to_string(kHighestPort),
                         std::strerror(errno));
}

// Whether the process ended; reaps it.
bool HasEnded(pid_t pid, int* how) {
  return ::waitpid(pid, how, WNOHANG) == pid;
}

std::string Describe(int how) {
  if (WIFSIGNALED(how)) {
    return "was killed by signal " + std::to_string(WTERMSIG(how));
  }
  return "ended with status " + std::to_string(WEXITSTATUS(how));
}

}  // namespace

Cluster::Cluster(std::string program, std::string directory, size_t replicas)
    : program_(std::move(program)), directory_(std::move(directory)) {
  for (size_t i = 0; i < replicas; ++i) {
    replicas_.emplace_back().name = std::string(1, static_cast<char>('a' + i));
  }
}

Cluster::~Cluster() {
  for (size_t i = 0; i < replicas_.size(); ++i) Kill(i);
}

std::string Cluster::address(size_t i) const {
  return "127.0.0.1:" + std::to_string(replicas_[i].peer_port);
}

std::string Cluster::directory(size_t i) const {
  return directory_ + "/" + replicas_[i].name;
}

std::string Cluster::log(size_t i) const { return directory(i) + ".log"; }

std::string Cluster::page(size_t i) const {
  return "127.0.0.1:" + std::to_string(replicas_[i].page_port);
}

Status Cluster::Start(uint64_t sync_interval_ms, bool pages) {
  sync_interval_ms_ = sync_interval_ms;
  std::vector<uint16_t> ports;
  Status status = FindFreePorts(3 * replicas_.size(), &ports);
  if (!status.ok()) return status;
  for (size_t i = 0; i < replicas_.size(); ++i) {
    replicas_[i].redis_port = ports[3 * i];
    replicas_[i].peer_port = ports[3 * i + 1];
    if (pages) replicas_[i].page_port = ports[3 * i + 2];
  }
  for (Replica& replica : replicas_) {
    status = Spawn(&replica);
    if (!status.ok()) return status;
  }
  for (Replica& replica : replicas_) {
    status = WaitUntilReady(&replica);
    if (!status.ok()) return status;
  }
  return status;
}

Status Cluster::StartReplica(size_t i) {
  const Status status = Spawn(&replicas_[i]);
  return status.ok() ? WaitUntilReady(&replicas_[i]) : status;
}

Status Cluster::Spawn(Replica* replica) {
  const size_t index = static_cast<size_t>(replica - replicas_.data());
  std::vector<std::string> words = {program_,
                                    "--dir",
                                    directory(index),
                                    "--certificates",
                                    directory_ + "/certificates",
                                    "--redis-port",
                                    std::to_string(replica->redis_port),
                                    "--listen",
                                    address(index),
                                    "--sync-interval-ms",
                                    std::to_string(sync_interval_ms_)};
  if (replica->page_port != 0) {
    words.push_back("--http-port");
    words.push_back(std::to_string(replica->page_port));
  }
  for (size_t i = 0; i < replicas_.size(); ++i) {
    if (i == index) continue;
    words.push_back("--peer");
    words.push_back(address(i));
    if (replica->page_port == 0) continue;
    words.push_back("--http-peer");
    words.push_back(page(i));
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  const std::string log_name = log(index);
  const int log =
      ::open(log_name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) return Status::IOError(log_name, std::strerror(errno));
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    // Nothing of a replica outlives us, however we end.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    // Ctrl-C is ours; we tell the replicas.
    ::setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execv(program_.c_str(), arguments.data());
    const char message[] = "cannot run replicated_store\n";
    [[maybe_unused]] const ssize_t written =
        ::write(STDERR_FILENO, message, sizeof message - 1);
    ::_exit(127);
  }
  ::close(log);
  if (pid < 0) return Status::IOError("fork", std::strerror(errno));
  replica->pid = pid;
  return Status::OK();
}

Status Cluster::WaitUntilReady(Replica* replica) {
  const auto deadline = steady_clock::now() + kStartTimeout;
  while (steady_clock::now() < deadline) {
    int how = 0;
    if (HasEnded(replica->pid, &how)) {
      replica->pid = -1;
      return Status::IOError("replica " + replica->name + " " + Describe(how),
                             LastLines(*replica));
    }
    std::unique_ptr<RedisClient> client;
    if (RedisClient::Connect(replica->redis_port, &client).ok() &&
        client->Call({"PING"}).ok()) {
      return Status::OK();
    }
    std::this_thread::sleep_for(kPoll);
  }
  return Status::TimedOut("replica " + replica->name + " does not answer",
                          LastLines(*replica));
}

void Cluster::Kill(size_t i) {
  Replica& replica = replicas_[i];
  if (replica.pid < 0) return;
  ::kill(replica.pid, SIGKILL);
  ::waitpid(replica.pid, nullptr, 0);
  replica.pid = -1;
}

Status Cluster::Stop() {
  // The page that people look at is the first one's: while it is there, it
  // would say of the others that they are not reached.
  Status status;
  if (replicas_[0].page_port != 0) {
    Terminate(replicas_[0]);
    status = WaitUntilStopped(0);
  }
  for (const Replica& replica : replicas_) Terminate(replica);
  for (size_t i = 0; i < replicas_.size(); ++i) {
    const Status stopped = WaitUntilStopped(i);
    if (status.ok()) status = stopped;
  }
  return status;
}

void Cluster::Terminate(const Replica& replica) {
  if (replica.pid >= 0) ::kill(replica.pid, SIGTERM);
}

Status Cluster::WaitUntilStopped(size_t i) {
  Replica& replica = replicas_[i];
  if (replica.pid < 0) return Status::OK();
  const auto deadline = steady_clock::now() + kStopTimeout;
  int how = 0;
  while (!HasEnded(replica.pid, &how)) {
    if (steady_clock::now() >= deadline) {
      Kill(i);
      return Status::TimedOut("replica " + replica.name + " does not stop",
                              LastLines(replica));
    }
    std::this_thread::sleep_for(kPoll);
  }
  replica.pid = -1;
  if (how == 0) return Status::OK();
  return Status::IOError("replica " + replica.name + " " + Describe(how),
                         LastLines(replica));
}

std::string Cluster::LastLines(const Replica& replica) const {
  const std::string name =
      log(static_cast<size_t>(&replica - replicas_.data()));
  std::ifstream file(name);
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
    if (lines.size() > 3) lines.pop_front();
  }
  std::string text = "see " + name;
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

}  // namespace rocksync
