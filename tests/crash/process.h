// A child process that says on a pipe what it does, and dies by SIGKILL.

#ifndef ROCKSYNC_TESTS_CRASH_PROCESS_H_
#define ROCKSYNC_TESTS_CRASH_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace rocksync::crash {

// In the child: the pipe to the parent, and the parent's requests.
inline constexpr int kJournalFd = 3;

// Killed and reaped at the latest by the destructor; killed by the kernel if
// the parent dies.
class Process {
 public:
  using OnLine = std::function<void(const std::string& line)>;

  // This program again, with other arguments.
  Process(const std::vector<std::string>& arguments, OnLine on_line);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  bool started() const { return pid_ > 0; }

  // Hands on what the children say until `enough` or the deadline, or until one
  // of them is gone. True: `enough`. All at once, as a child whose pipe is full
  // stands still.
  static bool ReadUntil(const std::vector<Process*>& children,
                        const std::function<bool()>& enough,
                        std::chrono::milliseconds timeout);

  // A line on the child's standard input.
  void Tell(const std::string& line);

  // Kills it, hands on what it had said, and reaps it. Returns false if it had
  // ended by itself with another code than 0.
  bool Kill();

 private:
  // What is there to read, in one piece. False at the end of the pipe.
  bool Read();

  const OnLine on_line_;
  pid_t pid_ = -1;
  int journal_ = -1;
  int requests_ = -1;
  std::string partial_;
};

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_PROCESS_H_
