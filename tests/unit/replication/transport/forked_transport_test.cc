// A transport belongs to the process that made it: its thread is not in a child
// of fork, which shares what the system watches for it.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <utility>

#include "tests/unit/replication/transport/cluster.h"

namespace rocksync {
namespace {

// 0, or which call was not refused.
int InChild(std::shared_ptr<Transport> listener,
            std::shared_ptr<Transport> dialer) {
  const std::string address = listener->listen_address();
  std::unique_ptr<Connection> connection;
  const rocksdb::Status dialed =
      dialer->Connect(address, kGenerous, nullptr, &connection);
  if (!dialed.IsNotSupported() || !Mentions(dialed, "make one after the fork"))
    return 1;
  if (!dialer->Listen("127.0.0.1:0", nullptr).IsNotSupported()) return 2;
  listener->StopListening();
  if (listener->listen_address() != address) return 3;
  return 0;
}

TEST(ForkedTransportTest, AChildIsRefusedAndItsParentGoesOn) {
  const TestCluster cluster;
  Acceptor acceptor;
  std::shared_ptr<Transport> listener = cluster.NewTransport(0x11);
  acceptor.ListenOn(listener.get());
  std::shared_ptr<Transport> dialer = cluster.NewTransport(0xd1);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);  // ends a child that waits for a thread it lacks
    const int refused =
        InChild(std::move(listener), std::move(dialer));  // the last references
    ::_exit(refused);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the call that was not refused";

  std::unique_ptr<Connection> dialed;
  const rocksdb::Status s =
      dialer->Connect(listener->listen_address(), kGenerous, nullptr, &dialed);
  ASSERT_TRUE(s.ok()) << s.ToString();
  ASSERT_TRUE(dialed->Send("hello", kGenerous).ok());
  const std::unique_ptr<Connection> accepted = acceptor.Next();
  ASSERT_NE(accepted, nullptr);
  std::string frame;
  ASSERT_TRUE(accepted->Receive(&frame, kGenerous).ok());
  EXPECT_EQ(frame, "hello");
}

// It would accept the peer as its parent's transport, with which it shares all
// sockets.
TEST(ForkedTransportTest, AChildThatReturnsFromACallbackEnds) {
  const TestCluster cluster;
  Acceptor acceptor;
  TlsTransportOptions options = cluster.Options(0x11);
  pid_t child = -1;
  options.allow = [&](uint64_t, const std::string&) {
    child = ::fork();
    if (child == 0) ::alarm(60);
    return true;
  };
  std::shared_ptr<Transport> listener;
  ASSERT_TRUE(NewTlsTransport(options, &listener).ok());
  acceptor.ListenOn(listener.get());
  std::shared_ptr<Transport> dialer = cluster.NewTransport(0xd1);
  std::unique_ptr<Connection> dialed;
  const rocksdb::Status s =
      dialer->Connect(listener->listen_address(), kGenerous, nullptr, &dialed);
  ASSERT_TRUE(s.ok()) << s.ToString();
  ASSERT_NE(acceptor.Next(), nullptr);
  int status = 0;
  ASSERT_GT(child, 0);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
}

}  // namespace
}  // namespace rocksync
