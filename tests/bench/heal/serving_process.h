// A replica that serves in a process of its own, so that the memory and the
// threads of each side are its own.

#ifndef ROCKSYNC_TESTS_BENCH_HEAL_SERVING_PROCESS_H_
#define ROCKSYNC_TESTS_BENCH_HEAL_SERVING_PROCESS_H_

#include <sys/types.h>

#include <cstdio>
#include <string>

namespace rocksync::bench {

class ServingProcess {
 public:
  ServingProcess() = default;
  ~ServingProcess();  // stops it, and waits for its end
  ServingProcess(const ServingProcess&) = delete;
  ServingProcess& operator=(const ServingProcess&) = delete;

  // Runs this program again, as one that calls Serve. False, with the reason on
  // stderr: it does not serve.
  bool Start(const std::string& directory, const std::string& certificates);

  pid_t pid() const { return pid_; }
  const std::string& address() const { return address_; }

 private:
  pid_t pid_ = -1;
  int input_ = -1;  // it serves until this is closed
  std::FILE* output_ = nullptr;
  std::string address_;
};

// The options that make Main call Serve.
inline constexpr char kServeOption[] = "--serve";
inline constexpr char kCertificatesOption[] = "--certificates";

// Serves the replica in `directory`, says where on stdout, until stdin ends.
// The process's exit code.
int Serve(const std::string& directory, const std::string& certificates);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_HEAL_SERVING_PROCESS_H_
