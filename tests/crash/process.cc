#include "tests/crash/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace rocksync::crash {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 20;

// In the child, between fork and exec.
[[noreturn]] void Become(int journal, int requests, char* const* arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(requests, STDIN_FILENO);
  dup2(journal, kJournalFd);  // without close-on-exec
  execv("/proc/self/exe", arguments);
  _exit(127);
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, OnLine on_line)
    : on_line_(std::move(on_line)) {
  int journal[2];
  int requests[2];
  if (pipe2(journal, O_CLOEXEC) != 0) return;
  if (pipe2(requests, O_CLOEXEC) != 0) {
    close(journal[0]);
    close(journal[1]);
    return;
  }
  // dup2 onto itself would keep close-on-exec.
  if (journal[1] == kJournalFd) {
    journal[1] = fcntl(kJournalFd, F_DUPFD_CLOEXEC, 10);
    close(kJournalFd);
  }
  std::vector<char*> raw;
  std::string name = "crash";
  raw.push_back(name.data());
  for (const std::string& argument : arguments) {
    raw.push_back(const_cast<char*>(argument.c_str()));
  }
  raw.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) Become(journal[1], requests[0], raw.data());
  close(journal[1]);
  close(requests[0]);
  journal_ = journal[0];
  requests_ = requests[1];
}

Process::~Process() {
  Kill();
  if (journal_ >= 0) close(journal_);
  if (requests_ >= 0) close(requests_);
}

bool Process::Read() {
  char bytes[65536];
  const ssize_t size = read(journal_, bytes, sizeof(bytes));
  if (size <= 0) return false;
  partial_.append(bytes, static_cast<size_t>(size));
  size_t begin = 0;
  for (size_t end; (end = partial_.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    on_line_(partial_.substr(begin, end - begin));
  }
  partial_.erase(0, begin);
  return true;
}

bool Process::ReadUntil(const std::vector<Process*>& children,
                        const std::function<bool()>& enough,
                        std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  while (!enough()) {
    if (Clock::now() >= deadline) return false;
    std::vector<pollfd> ready;
    for (const Process* child : children) {
      ready.push_back({child->journal_, POLLIN, 0});
    }
    if (poll(ready.data(), ready.size(), kPollMs) <= 0) continue;
    for (size_t i = 0; i < ready.size(); ++i) {
      if (ready[i].revents != 0 && !children[i]->Read()) return enough();
    }
  }
  return true;
}

void Process::Tell(const std::string& line) {
  const std::string bytes = line + "\n";
  // A child that is gone shows on its own pipe.
  if (write(requests_, bytes.data(), bytes.size()) < 0) return;
}

bool Process::Kill() {
  if (pid_ <= 0) return true;
  kill(pid_, SIGKILL);
  while (Read()) {
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL
                             : WEXITSTATUS(status) == 0;
}

}  // namespace rocksync::crash
