#include "tests/bench/heal/serving_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"
#include "tests/bench/heal/replica.h"

namespace rocksync::bench {

ServingProcess::~ServingProcess() {
  if (input_ >= 0) close(input_);
  if (output_ != nullptr) std::fclose(output_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

bool ServingProcess::Start(const std::string& directory,
                           const std::string& certificates) {
  std::array<int, 2> input{};
  std::array<int, 2> output{};
  if (pipe2(input.data(), O_CLOEXEC) != 0 ||
      pipe2(output.data(), O_CLOEXEC) != 0) {
    std::perror("pipe2");
    return false;
  }
  pid_ = fork();
  if (pid_ == 0) {
    dup2(input[0], STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    execl("/proc/self/exe", "bench_heal", kServeOption, directory.c_str(),
          kCertificatesOption, certificates.c_str(), nullptr);
    _exit(127);
  }
  close(input[0]);
  close(output[1]);
  input_ = input[1];
  output_ = fdopen(output[0], "r");
  std::array<char, 256> line{};
  if (pid_ < 0 || output_ == nullptr ||
      std::fgets(line.data(), line.size(), output_) == nullptr) {
    std::fprintf(stderr, "%s: no replica serves it\n", directory.c_str());
    return false;
  }
  address_ = line.data();
  address_.pop_back();  // the end of the line
  return true;
}

int Serve(const std::string& directory, const std::string& certificates) {
  std::unique_ptr<ReplicatedDB> db;
  std::unique_ptr<Replicator> replicator;
  if (!OpenReplica(directory, &db) ||
      !StartReplicator(certificates, db.get(), &replicator)) {
    return 1;
  }
  std::printf("%s\n", replicator->listen_address().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  replicator.reset();
  return Check(db->Close()) ? 0 : 1;
}

}  // namespace rocksync::bench
