// What transport.h promises, held against every transport we have.

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/support/blocked_thread.h"
#include "tests/support/memory_transport.h"
#include "tests/unit/replication/transport/cluster.h"

namespace rocksync {
namespace {

struct Two {
  std::shared_ptr<Transport> dialer;
  std::shared_ptr<Transport> listener;
  std::string listen_on;
  bool authenticates = true;
};

enum class Kind { kTls, kTlsIpv6, kPlain, kMemory };

class ConnectionContract : public ::testing::TestWithParam<Kind> {
 protected:
  ConnectionContract() {
    switch (GetParam()) {
      case Kind::kTls:
      case Kind::kTlsIpv6:
        two_.dialer = cluster_.NewTransport(0xd1);
        two_.listener = cluster_.NewTransport(0x11);
        break;
      case Kind::kPlain:
        EXPECT_TRUE(NewInsecurePlaintextTransport({}, &two_.dialer).ok());
        EXPECT_TRUE(NewInsecurePlaintextTransport({}, &two_.listener).ok());
        two_.authenticates = false;
        break;
      case Kind::kMemory:
        two_.dialer = network_->Join(0xd1);
        two_.listener = network_->Join(0x11);
        break;
    }
    two_.listen_on = GetParam() == Kind::kTlsIpv6 ? "[::1]:0" : "127.0.0.1:0";
  }

  void Meet() {
    acceptor_.ListenOn(two_.listener.get(), two_.listen_on);
    const rocksdb::Status s = two_.dialer->Connect(
        two_.listener->listen_address(), kGenerous, nullptr, &near_);
    ASSERT_TRUE(s.ok()) << s.ToString();
    far_ = acceptor_.Next();
    ASSERT_NE(far_, nullptr);
    near_->SetFrameLimit(kMaxFrameBytes);
    far_->SetFrameLimit(kMaxFrameBytes);
  }

  TestCluster cluster_;
  std::shared_ptr<MemoryNetwork> network_ = NewMemoryNetwork();
  Two two_;
  Acceptor acceptor_;
  std::unique_ptr<Connection> near_;
  std::unique_ptr<Connection> far_;
};

TEST_P(ConnectionContract, FramesArriveWholeAndInOrder) {
  Meet();
  const std::vector<size_t> sizes = {1, 2, 127, 128, 16383, 16384, 300'000};
  std::thread sender([&] {
    for (const size_t size : sizes) {
      const std::string frame(size, static_cast<char>(size));
      EXPECT_TRUE(near_->Send(frame, kGenerous).ok());
    }
  });
  for (const size_t size : sizes) {
    std::string frame;
    const rocksdb::Status s = far_->Receive(&frame, kGenerous);
    EXPECT_TRUE(s.ok()) << s.ToString();
    EXPECT_EQ(frame, std::string(size, static_cast<char>(size)));
  }
  sender.join();
}

TEST_P(ConnectionContract, LargestFrame) {
  Meet();
  const std::string largest(kMaxFrameBytes, 'x');
  std::string frame;
  std::thread sender([&] { EXPECT_TRUE(far_->Send(largest, kGenerous).ok()); });
  EXPECT_TRUE(near_->Receive(&frame, kGenerous).ok());
  sender.join();
  EXPECT_EQ(frame, largest);
  EXPECT_TRUE(near_->Send("", kGenerous).IsInvalidArgument());
  EXPECT_TRUE(near_->Send(largest + "y", kGenerous).IsInvalidArgument());
}

TEST_P(ConnectionContract, ANewConnectionReceivesSmallFramesOnly) {
  acceptor_.ListenOn(two_.listener.get(), two_.listen_on);
  for (const bool dialer_receives : {false, true}) {
    ASSERT_TRUE(two_.dialer
                    ->Connect(two_.listener->listen_address(), kGenerous,
                              nullptr, &near_)
                    .ok());
    far_ = acceptor_.Next();
    ASSERT_NE(far_, nullptr);
    Connection* const from = dialer_receives ? far_.get() : near_.get();
    Connection* const to = dialer_receives ? near_.get() : far_.get();
    std::string frame;
    const std::string largest(kMaxUnauthenticatedFrameBytes, 'x');
    ASSERT_TRUE(from->Send(largest, kGenerous).ok());
    ASSERT_TRUE(to->Receive(&frame, kGenerous).ok());
    to->SetFrameLimit(3000);
    ASSERT_TRUE(from->Send(largest + "y", kGenerous).ok());
    ASSERT_TRUE(to->Receive(&frame, kGenerous).ok());
    to->SetFrameLimit(kMaxUnauthenticatedFrameBytes);
    ASSERT_TRUE(from->Send(largest + "y", kGenerous).ok());
    const rocksdb::Status s = to->Receive(&frame, kGenerous);
    EXPECT_TRUE(s.IsCorruption()) << s.ToString();
    EXPECT_TRUE(Mentions(s, "claims 2049 bytes, the limit is 2048"));
    EXPECT_FALSE(to->Receive(&frame, kGenerous).ok());
    EXPECT_TRUE(from->Receive(&frame, kGenerous).IsIOError()) << "hung up on";
  }
}

TEST_P(ConnectionContract, BothWaysAtOnce) {
  Meet();
  const std::string big(1 << 20, 'b');
  const auto talk = [&](Connection* connection) {
    std::thread sender([&] {
      for (int i = 0; i < 8; ++i) {
        EXPECT_TRUE(connection->Send(big, kGenerous).ok());
      }
    });
    for (int i = 0; i < 8; ++i) {
      std::string frame;
      EXPECT_TRUE(connection->Receive(&frame, kGenerous).ok());
      EXPECT_EQ(frame, big);
    }
    sender.join();
  };
  std::thread far_side([&] { talk(far_.get()); });
  talk(near_.get());
  far_side.join();
}

TEST_P(ConnectionContract, ATimeoutBetweenFramesHarmsNothing) {
  Meet();
  std::string frame;
  EXPECT_TRUE(near_->Receive(&frame, milliseconds(20)).IsTimedOut());
  EXPECT_TRUE(near_->Receive(&frame, milliseconds(0)).IsTimedOut());
  ASSERT_TRUE(far_->Send("late", kGenerous).ok());
  ASSERT_TRUE(near_->Receive(&frame, kGenerous).ok());
  EXPECT_EQ(frame, "late");
}

TEST_P(ConnectionContract, CloseWakesTheReceiverAndStaysClosed) {
  Meet();
  std::thread closer([this, waits = gettid()] {
    EXPECT_TRUE(AwaitBlocked(waits));
    near_->Close();
  });
  std::string frame;
  EXPECT_TRUE(near_->Receive(&frame, std::chrono::hours(1)).IsAborted());
  closer.join();
  EXPECT_TRUE(near_->Send("x", kGenerous).IsAborted());
  EXPECT_TRUE(near_->Receive(&frame, kGenerous).IsAborted());
  const rocksdb::Status s = far_->Receive(&frame, kGenerous);
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "closed the connection"));
}

TEST_P(ConnectionContract, WhatWasSentBeforeCloseArrives) {
  Meet();
  ASSERT_TRUE(near_->Send("last words", kGenerous).ok());
  near_.reset();
  std::string frame;
  ASSERT_TRUE(far_->Receive(&frame, kGenerous).ok());
  EXPECT_EQ(frame, "last words");
  EXPECT_TRUE(far_->Receive(&frame, kGenerous).IsIOError());
}

TEST_P(ConnectionContract, SendBlocksWhileThePeerDoesNotReadAndTimesOut) {
  Meet();
  const std::string big(4 << 20, 'b');
  rocksdb::Status s;
  for (int i = 0; i < 32 && s.ok(); ++i) {
    s = near_->Send(big, milliseconds(200));
  }
  EXPECT_TRUE(s.IsTimedOut()) << s.ToString();
}

TEST_P(ConnectionContract, CloseWakesTheSender) {
  Meet();
  std::thread closer([this, waits = gettid()] {
    EXPECT_TRUE(AwaitBlocked(waits));
    near_->Close();
  });
  const std::string big(4 << 20, 'b');
  rocksdb::Status s;
  while (s.ok()) s = near_->Send(big, std::chrono::hours(1));
  EXPECT_TRUE(s.IsAborted()) << s.ToString();
  closer.join();
}

TEST_P(ConnectionContract, NamesAndCountsThePeer) {
  Meet();
  EXPECT_EQ(near_->peer_replica_id(), two_.authenticates ? 0x11u : 0u);
  EXPECT_EQ(far_->peer_replica_id(), two_.authenticates ? 0xd1u : 0u);
  EXPECT_EQ(near_->peer_name(), two_.listener->listen_address());
  EXPECT_FALSE(far_->peer_name().empty());
  const uint64_t sent = near_->bytes_sent();
  const uint64_t received = far_->bytes_received();
  ASSERT_TRUE(near_->Send(std::string(1000, 'x'), kGenerous).ok());
  std::string frame;
  ASSERT_TRUE(far_->Receive(&frame, kGenerous).ok());
  EXPECT_GE(near_->bytes_sent() - sent, 1002u);
  EXPECT_LE(near_->bytes_sent() - sent, 1002u + 64);
  EXPECT_EQ(near_->bytes_sent() - sent, far_->bytes_received() - received);
}

TEST_P(ConnectionContract, ConnectionsOutliveTheirTransportClosed) {
  Meet();
  two_.dialer.reset();
  if (GetParam() == Kind::kMemory) return;  // has nothing that could go
  std::string frame;
  EXPECT_TRUE(near_->Receive(&frame, kGenerous).IsAborted());
  EXPECT_TRUE(near_->Send("x", kGenerous).IsAborted());
  EXPECT_TRUE(far_->Receive(&frame, kGenerous).IsIOError());
}

TEST_P(ConnectionContract, NobodyThere) {
  acceptor_.ListenOn(two_.listener.get(), two_.listen_on);
  const std::string address = two_.listener->listen_address();
  two_.listener->StopListening();
  EXPECT_EQ(two_.listener->listen_address(), "");
  const rocksdb::Status s =
      two_.dialer->Connect(address, kGenerous, nullptr, &near_);
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "cannot connect to " + address));
}

TEST_P(ConnectionContract, ThePeerComesBackAtTheSameAddress) {
  Meet();
  const std::string address = two_.listener->listen_address();
  two_.listener->StopListening();
  acceptor_.ListenOn(two_.listener.get(), address);
  std::unique_ptr<Connection> again;
  ASSERT_TRUE(two_.dialer->Connect(address, kGenerous, nullptr, &again).ok());
  ASSERT_TRUE(near_->Send("old one lives", kGenerous).ok());
  std::string frame;
  EXPECT_TRUE(far_->Receive(&frame, kGenerous).ok());
}

TEST_P(ConnectionContract, TakenAddress) {
  acceptor_.ListenOn(two_.listener.get(), two_.listen_on);
  const std::string address = two_.listener->listen_address();
  const rocksdb::Status s = two_.dialer->Listen(address, [](auto) {});
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "cannot listen on " + address));
}

TEST_P(ConnectionContract, AnAddressOfAnotherMachine) {
  if (GetParam() == Kind::kMemory) return;
  // Of documents (RFC 5737).
  const rocksdb::Status s = two_.dialer->Listen("192.0.2.1:0", [](auto) {});
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "cannot listen on 192.0.2.1:0"));
  EXPECT_TRUE(Mentions(s, "no interface of this machine has that address"));
}

// A transport that cannot tell says so, and Receive goes on as before.
TEST_P(ConnectionContract, WhenReceivableTellsOnceThatAFrameHasCome) {
  Meet();
  Told told;
  std::string frame;
  if (!far_->WhenReceivable(told.Come())) {
    EXPECT_EQ(GetParam(), Kind::kMemory);
    ASSERT_TRUE(near_->Send("one", kGenerous).ok());
    EXPECT_TRUE(far_->Receive(&frame, kGenerous).ok());
    EXPECT_EQ(told.times(), 0);
    return;
  }
  EXPECT_EQ(told.times(), 0);
  ASSERT_TRUE(near_->Send("one", kGenerous).ok());
  ASSERT_TRUE(told.Await(1));
  EXPECT_TRUE(far_->Receive(&frame, milliseconds(0)).ok());
  EXPECT_EQ(frame, "one");
  // Several that are there already, in one record of TLS or in several.
  for (const char* each : {"two", "three", "four"}) {
    ASSERT_TRUE(near_->Send(each, kGenerous).ok());
  }
  int times = 1;
  for (const char* each : {"two", "three", "four"}) {
    ASSERT_TRUE(far_->WhenReceivable(told.Come()));
    ASSERT_TRUE(told.Await(++times)) << each;
    EXPECT_TRUE(far_->Receive(&frame, milliseconds(0)).ok());
    EXPECT_EQ(frame, each);
  }
  // One that has come since somebody looked for it, and so is read already.
  EXPECT_TRUE(far_->Receive(&frame, milliseconds(0)).IsTimedOut());
  const uint64_t before = far_->bytes_received();
  ASSERT_TRUE(near_->Send("five", kGenerous).ok());
  while (far_->bytes_received() == before) std::this_thread::yield();
  ASSERT_TRUE(far_->WhenReceivable(told.Come()));
  ASSERT_TRUE(told.Await(++times));
  EXPECT_TRUE(far_->Receive(&frame, milliseconds(0)).ok());
  EXPECT_EQ(frame, "five");
  EXPECT_EQ(told.times(), times);
}

TEST_P(ConnectionContract, WhenReceivableTellsThatTheConnectionHasEnded) {
  for (const bool peer_closes : {true, false}) {
    Meet();
    two_.listener->StopListening();
    Told told;
    if (!far_->WhenReceivable(told.Come())) return;
    (peer_closes ? near_ : far_)->Close();
    ASSERT_TRUE(told.Await(1)) << peer_closes;
    std::string frame;
    const rocksdb::Status s = far_->Receive(&frame, milliseconds(0));
    EXPECT_TRUE(peer_closes ? s.IsIOError() : s.IsAborted()) << s.ToString();
    // And so to who asks later.
    ASSERT_TRUE(far_->WhenReceivable(told.Come()));
    ASSERT_TRUE(told.Await(2)) << peer_closes;
  }
}

std::string KindName(const ::testing::TestParamInfo<Kind>& kind) {
  switch (kind.param) {
    case Kind::kTls:
      return "Tls";
    case Kind::kTlsIpv6:
      return "TlsIpv6";
    case Kind::kPlain:
      return "Plain";
    case Kind::kMemory:
      return "Memory";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(All, ConnectionContract,
                         ::testing::Values(Kind::kTls, Kind::kTlsIpv6,
                                           Kind::kPlain, Kind::kMemory),
                         KindName);

}  // namespace
}  // namespace rocksync
