#include "replication/clone/attended.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace rocksync {
namespace {

using rocksdb::Status;

// No database was opened in this process, which is when others find out. Of the
// work's thread there is nothing in the child.
TEST(Attended, AChildForkedInProgressEnds) {
  CloneOptions clone;
  pid_t child = -1;
  clone.progress = [&](const CloneProgress&) {
    if (child >= 0) return;
    child = ::fork();
    if (child == 0) ::alarm(60);  // ends one that waits for the thread
  };
  const Status status = Attended(clone, [](const CloneOptions& given) {
    given.progress(CloneProgress());
    return Status::OK();
  });
  ASSERT_GT(child, 0);
  EXPECT_TRUE(status.ok()) << status.ToString();
  int exit = 0;
  ASSERT_EQ(::waitpid(child, &exit, 0), child);
  ASSERT_TRUE(WIFSIGNALED(exit));
  EXPECT_EQ(WTERMSIG(exit), SIGABRT);
}

}  // namespace
}  // namespace rocksync
