#include "tests/bench/live/peer_process.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>

#include "tests/bench/live/replica.h"

namespace rocksync {
namespace {

// When the key was there; `*value` is its value.
uint64_t Await(ReplicatedDB* db, const std::string& key, std::string* value) {
  while (true) {
    const rocksdb::Status status = db->Get(rocksdb::ReadOptions(), key, value);
    if (status.ok()) return NowNs();
    if (!status.IsNotFound()) Check(status);
    ::usleep(kPollUs);
  }
}

std::string Watch(ReplicatedDB* db, const std::string& prefix, int count) {
  std::string answer;
  for (int i = 0; i < count; ++i) {
    std::string value;
    const uint64_t now = Await(db, prefix + std::to_string(i), &value);
    uint64_t written = 0;
    std::memcpy(&written, value.data(), sizeof written);
    answer += " " + std::to_string(now - written);
  }
  return answer;
}

uint64_t ResidentBytes() {
  FILE* const file = std::fopen("/proc/self/statm", "r");
  unsigned long size = 0;
  unsigned long resident = 0;
  if (file == nullptr || std::fscanf(file, "%lu %lu", &size, &resident) != 2) {
    std::exit(1);
  }
  std::fclose(file);
  return resident * static_cast<unsigned long>(::sysconf(_SC_PAGESIZE));
}

std::string PortOf(const std::string& address) {
  return address.substr(address.rfind(':') + 1);
}

std::string Obey(BenchReplica* replica, const std::string& line,
                 std::string* address) {
  std::istringstream words(line);
  std::string what;
  std::string name;
  int count = 0;
  words >> what >> name >> count;
  if (what == "start") {
    ReplicatorOptions options;
    options.listen_address = *address;
    replica->Start(options);
    *address = replica->replicator()->listen_address();
    return PortOf(*address);
  }
  if (what == "stop") {
    replica->Stop();
    return "0";
  }
  if (what == "watch") return Watch(replica->db(), name, count);
  if (what == "memory") return std::to_string(ResidentBytes());
  if (what == "find") {
    std::string value;
    return std::to_string(Await(replica->db(), name, &value));
  }
  const ReplicationStats stats = replica->replicator()->stats();
  return std::to_string(stats.stream.pairs_applied) + " " +
         std::to_string(stats.pairs_applied);
}

}  // namespace

PeerProcess::PeerProcess(const std::string& directory,
                         const std::string& certificates) {
  int in[2];
  int out[2];
  if (::pipe(in) != 0 || ::pipe(out) != 0) std::exit(1);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    for (const int end : {in[0], in[1], out[0], out[1]}) ::close(end);
    ::execl("/proc/self/exe", "bench_live", "--peer", directory.c_str(),
            certificates.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  to_ = ::fdopen(in[1], "w");
  from_ = ::fdopen(out[0], "r");
}

PeerProcess::~PeerProcess() {
  std::fclose(to_);
  std::fclose(from_);
  int how = 0;
  ::waitpid(pid_, &how, 0);
}

void PeerProcess::Ask(const std::string& line) {
  std::fprintf(to_, "%s\n", line.c_str());
  std::fflush(to_);
}

std::vector<uint64_t> PeerProcess::Answer() {
  char* line = nullptr;
  size_t size = 0;
  if (::getline(&line, &size, from_) < 0) {
    std::fprintf(stderr, "bench_live: the other process has gone\n");
    std::exit(1);
  }
  std::istringstream words(line);
  std::free(line);
  std::vector<uint64_t> numbers;
  for (uint64_t number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

int RunPeer(const std::string& directory, const std::string& certificates) {
  // Or each sleep would take 50 us longer.
  ::prctl(PR_SET_TIMERSLACK, 1'000);
  BenchReplica replica(directory, certificates);
  std::string address = "127.0.0.1:0";
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << Obey(&replica, line, &address) << std::endl;
  }
  return 0;
}

}  // namespace rocksync
