#include "tests/support/memory_transport.h"

#include <gtest/gtest.h>

#include <chrono>

namespace rocksync {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kGenerous{10'000};

TEST(MemoryTransport, CountsAsSocketsWould) {
  MemoryPipe pipe = NewMemoryPipe();
  ASSERT_TRUE(pipe.dialer->Send(std::string(127, 'x'), kGenerous).ok());
  EXPECT_EQ(pipe.dialer->bytes_sent(), 128u);
  ASSERT_TRUE(pipe.dialer->Send(std::string(128, 'x'), kGenerous).ok());
  EXPECT_EQ(pipe.dialer->bytes_sent(), 128u + 130);
  EXPECT_EQ(pipe.listener->bytes_received(), 0u);
  std::string frame;
  ASSERT_TRUE(pipe.listener->Receive(&frame, kGenerous).ok());
  EXPECT_EQ(pipe.listener->bytes_received(), 128u);
}

TEST(MemoryTransport, DroppedFramesVanishSilently) {
  const auto faults = NewMemoryFaults();
  MemoryPipe pipe = NewMemoryPipe(faults);
  faults->SetDrop(true);
  ASSERT_TRUE(pipe.dialer->Send("lost", kGenerous).ok());
  std::string frame;
  EXPECT_TRUE(pipe.listener->Receive(&frame, milliseconds(20)).IsTimedOut());
  faults->SetDrop(false);
  ASSERT_TRUE(pipe.dialer->Send("found", kGenerous).ok());
  ASSERT_TRUE(pipe.listener->Receive(&frame, kGenerous).ok());
  EXPECT_EQ(frame, "found");
}

TEST(MemoryTransport, DelayedFramesAreNotEarly) {
  const auto faults = NewMemoryFaults();
  MemoryPipe pipe = NewMemoryPipe(faults);
  faults->SetDelay(milliseconds(50));
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(pipe.dialer->Send("slow", kGenerous).ok());
  std::string frame;
  ASSERT_TRUE(pipe.listener->Receive(&frame, kGenerous).ok());
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(50));
  faults->SetDelay(std::chrono::hours(1));
  ASSERT_TRUE(pipe.dialer->Send("slower", kGenerous).ok());
  EXPECT_TRUE(pipe.listener->Receive(&frame, milliseconds(0)).IsTimedOut());
}

TEST(MemoryTransport, CutAtOnceAndAfterSomeFrames) {
  const auto faults = NewMemoryFaults();
  MemoryPipe first = NewMemoryPipe(faults);
  faults->Cut(2);
  std::string frame;
  EXPECT_TRUE(first.dialer->Send("x", kGenerous).IsIOError());
  EXPECT_TRUE(first.listener->Receive(&frame, kGenerous).IsIOError());

  MemoryPipe second = NewMemoryPipe(faults);
  EXPECT_TRUE(second.dialer->Send("1", kGenerous).ok());
  EXPECT_TRUE(second.listener->Send("2", kGenerous).ok());
  EXPECT_TRUE(second.dialer->Send("3", kGenerous).IsIOError());
  EXPECT_TRUE(second.dialer->Receive(&frame, kGenerous).IsIOError())
      << "a cut loses what is on its way";
}

TEST(MemoryTransport, DownIsDownUntilItIsUp) {
  const auto network = NewMemoryNetwork();
  const auto faults = NewMemoryFaults();
  const auto listener = network->Join(1);
  const auto dialer = network->Join(2, faults);
  std::unique_ptr<Connection> far;
  ASSERT_TRUE(
      listener->Listen("one", [&](auto c) { far = std::move(c); }).ok());
  std::unique_ptr<Connection> near;
  faults->SetDown(true);
  EXPECT_TRUE(dialer->Connect("one", kGenerous, nullptr, &near).IsIOError());
  faults->SetDown(false);
  EXPECT_TRUE(dialer->Connect("one", kGenerous, nullptr, &near).ok());
  EXPECT_EQ(near->peer_replica_id(), 1u);
  EXPECT_EQ(far->peer_replica_id(), 2u);
}

}  // namespace
}  // namespace rocksync
