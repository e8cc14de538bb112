#include "tests/bench/live/redis_pair.h"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>

#include "tests/bench/live/replica.h"
#include "tests/bench/pace.h"

namespace rocksync {
namespace {

constexpr std::chrono::milliseconds kStartPoll{20};
constexpr int kStartPolls = 500;

struct FreeContext {
  void operator()(redisContext* context) const { redisFree(context); }
};
using Context = std::unique_ptr<redisContext, FreeContext>;

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

// On a socket in its directory, so that no port is taken.
class RedisServer {
 public:
  RedisServer(const std::string& directory, const std::string& master)
      : socket_(directory + "/socket") {
    std::filesystem::create_directories(directory);
    port_ =
        std::to_string(20'000 + ::getpid() % 20'000 + (master.empty() ? 0 : 1));
    std::vector<std::string> words = {"redis-server",
                                      "--port",
                                      port_,
                                      "--bind",
                                      "127.0.0.1",
                                      "--dir",
                                      directory,
                                      "--unixsocket",
                                      socket_,
                                      "--save",
                                      "",
                                      "--appendonly",
                                      "no",
                                      "--repl-diskless-sync-delay",
                                      "0"};
    if (!master.empty()) {
      words.insert(words.end(), {"--replicaof", "127.0.0.1", master});
    }
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
    ::execvp("redis-server", arguments.data());
    ::_exit(127);
  }
  ~RedisServer() {
    int how = 0;
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, &how, 0);
  }

  // Null: it does not run.
  Context Connect() const {
    for (int i = 0; i < kStartPolls; ++i) {
      int how = 0;
      if (::waitpid(pid_, &how, WNOHANG) == pid_) return nullptr;
      Context context(redisConnectUnix(socket_.c_str()));
      if (context != nullptr && context->err == 0) return context;
      std::this_thread::sleep_for(kStartPoll);
    }
    return nullptr;
  }
  const std::string& port() const { return port_; }

 private:
  const std::string socket_;
  std::string port_;
  pid_t pid_ = -1;
};

uint64_t WrittenAt(const redisReply& reply) {
  uint64_t written = 0;
  std::memcpy(&written, reply.str, sizeof written);
  return written;
}

// When the key was there, less when it was written.
uint64_t Lateness(redisContext* reader, const std::string& key) {
  while (true) {
    const Reply reply(
        static_cast<redisReply*>(redisCommand(reader, "GET %s", key.c_str())));
    if (reply != nullptr && reply->type == REDIS_REPLY_STRING &&
        reply->len >= sizeof(uint64_t)) {
      return NowNs() - WrittenAt(*reply);
    }
    ::usleep(kPollUs);
  }
}

void Set(redisContext* writer, const std::string& key) {
  std::string value(100, 'v');
  const uint64_t now = NowNs();
  std::memcpy(value.data(), &now, sizeof now);
  const Reply reply(static_cast<redisReply*>(redisCommand(
      writer, "SET %s %b", key.c_str(), value.data(), value.size())));
}

}  // namespace

std::vector<uint64_t> MeasureRedis(const std::string& directory, int count,
                                   uint64_t per_second) {
  std::vector<uint64_t> late;
  const RedisServer master(directory + "/master", "");
  const Context writer = master.Connect();
  if (writer == nullptr) return late;
  const RedisServer replica(directory + "/replica", master.port());
  const Context reader = replica.Connect();
  if (reader == nullptr) return late;
  Set(writer.get(), "first");
  (void)Lateness(reader.get(), "first");  // the replica is connected
  std::thread reading([&] {
    ::prctl(PR_SET_TIMERSLACK, 1'000);
    for (int i = 0; i < count; ++i) {
      late.push_back(Lateness(reader.get(), "k" + std::to_string(i)));
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    std::this_thread::sleep_until(begin + DueAfterFirst(i, per_second));
    Set(writer.get(), "k" + std::to_string(i));
  }
  reading.join();
  return late;
}

}  // namespace rocksync
