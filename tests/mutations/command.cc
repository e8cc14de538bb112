#include "tests/mutations/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rocksync::mutations {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void Become(const std::vector<std::string>& command,
                         const std::string& directory, int output) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::vector<char*> raw;
  for (const std::string& word : command) {
    raw.push_back(const_cast<char*>(word.c_str()));
  }
  raw.push_back(nullptr);
  if (chdir(directory.c_str()) != 0) _exit(127);
  execvp(raw[0], raw.data());
  _exit(127);
}

// False: not all of it came in time. What comes on once the program has ended,
// from a process that it left behind, is not waited for.
bool ReadAll(int from, pid_t program, Clock::time_point deadline, int* status,
             std::string* output) {
  bool ended = false;
  while (true) {
    pollfd ready = {from, POLLIN, 0};
    if (poll(&ready, 1, 50) > 0) {
      char bytes[65536];
      const ssize_t size = read(from, bytes, sizeof(bytes));
      if (size > 0) output->append(bytes, static_cast<size_t>(size));
      if (size <= 0 && !ended) waitpid(program, status, 0);
      if (size <= 0) return true;
    } else if (ended) {
      return true;
    }
    if (!ended) ended = waitpid(program, status, WNOHANG) == program;
    if (!ended && Clock::now() >= deadline) return false;
  }
}

}  // namespace

End RunCommand(const std::vector<std::string>& command,
               const std::filesystem::path& directory,
               std::chrono::seconds patience, std::string* output) {
  output->clear();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return End::kFailed;
  const pid_t program = fork();
  if (program == 0) Become(command, directory.string(), ends[1]);
  close(ends[1]);
  int status = 0;
  const bool in_time =
      ReadAll(ends[0], program, Clock::now() + patience, &status, output);
  kill(-program, SIGKILL);  // and whom it left behind
  if (!in_time) waitpid(program, &status, 0);
  close(ends[0]);
  if (!in_time) return End::kHung;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? End::kPassed
                                                       : End::kFailed;
}

std::string LastLines(const std::string& text, size_t lines) {
  size_t at = text.size();
  while (at > 0 && lines > 0) {
    at = text.rfind('\n', at - 1);
    if (at == std::string::npos) return text;
    --lines;
  }
  return text.substr(at);
}

}  // namespace rocksync::mutations
