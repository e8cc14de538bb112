// Bounds on connections, handshakes and time.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rocksync/max_duration.h"
#include "tests/support/blocked_thread.h"
#include "tests/unit/replication/transport/cluster.h"
#include "tests/unit/replication/transport/raw_peer.h"

namespace rocksync {
namespace {

class SocketLimitsTest : public ::testing::Test {
 protected:
  void Listen(const SocketLimits& limits) {
    TlsTransportOptions options = cluster_.Options(0x11);
    options.limits = limits;
    options.refused = [this](const rocksdb::Status& why) {
      acceptor_.AddRefusal(why);
    };
    listener_ = cluster_.NewTransport(options);
    acceptor_.ListenOn(listener_.get());
    dialer_ = cluster_.NewTransport(0xd1);
  }
  rocksdb::Status Dial(std::unique_ptr<Connection>* connection) {
    return dialer_->Connect(listener_->listen_address(), kGenerous, nullptr,
                            connection);
  }

  TestCluster cluster_;
  Acceptor acceptor_;
  std::shared_ptr<Transport> listener_;
  std::shared_ptr<Transport> dialer_;
};

TEST(SocketLimits, DurationsOfMoreThanAYearAreNamed) {
  using Member = milliseconds SocketLimits::*;
  const std::pair<Member, std::string> members[] = {
      {&SocketLimits::handshake_timeout, "SocketLimits::handshake_timeout"},
      {&SocketLimits::idle_timeout, "SocketLimits::idle_timeout"}};
  for (const auto& [member, name] : members) {
    for (const milliseconds duration :
         {milliseconds::max(), milliseconds(1'000'000'000'000'000),
          kMaxDuration + milliseconds(1), milliseconds(0)}) {
      PlaintextTransportOptions options;
      options.limits.*member = duration;
      std::shared_ptr<Transport> transport;
      const rocksdb::Status s =
          NewInsecurePlaintextTransport(options, &transport);
      EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
      EXPECT_TRUE(Mentions(
          s, name + " is " + std::to_string(duration.count()) + " ms"));
      EXPECT_TRUE(Mentions(s, "choose 1 to 31536000000 ms (a year)"));
    }
  }
}

TEST_F(SocketLimitsTest, ConnectionsAreBoundedAndFreedOnesCountNoMore) {
  SocketLimits limits;
  limits.max_connections = 2;
  Listen(limits);
  std::unique_ptr<Connection> first;
  std::unique_ptr<Connection> second;
  std::unique_ptr<Connection> third;
  ASSERT_TRUE(Dial(&first).ok());
  ASSERT_TRUE(Dial(&second).ok());
  const rocksdb::Status s = Dial(&third);
  EXPECT_TRUE(s.IsBusy()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "all 2 connections are taken"));
  EXPECT_TRUE(Mentions(s, "raise SocketLimits::max_connections"));
  acceptor_.Next().reset();
  EXPECT_TRUE(Dial(&third).ok());
}

TEST_F(SocketLimitsTest, ConnectionsAreAsManyAsWhoListensSays) {
  Listen({});
  listener_->SetMaxAccepted(1);
  std::unique_ptr<Connection> first;
  std::unique_ptr<Connection> second;
  ASSERT_TRUE(Dial(&first).ok());
  const rocksdb::Status s = Dial(&second);
  EXPECT_TRUE(s.IsBusy()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "all 1 connections are taken; raise max_accepted"));
  listener_->SetMaxAccepted(2);
  EXPECT_TRUE(Dial(&second).ok());
}

TEST_F(SocketLimitsTest, WhatIsSetIsNotRaised) {
  SocketLimits limits;
  limits.max_connections = 1;
  Listen(limits);
  listener_->SetMaxAccepted(100);
  std::unique_ptr<Connection> first;
  std::unique_ptr<Connection> second;
  ASSERT_TRUE(Dial(&first).ok());
  EXPECT_TRUE(Dial(&second).IsBusy());
}

TEST_F(SocketLimitsTest, SilentHandshakesEndAfterTheirTime) {
  SocketLimits limits;
  limits.handshake_timeout = milliseconds(200);
  Listen(limits);
  RawPeer silent(listener_->listen_address());
  EXPECT_TRUE(silent.ClosedByPeer());
  EXPECT_TRUE(acceptor_.NextRefusal().IsTimedOut());
}

TEST_F(SocketLimitsTest, SilentOnesKeepNobodyOut) {
  SocketLimits limits;
  limits.max_handshakes = 4;
  Listen(limits);
  std::vector<std::unique_ptr<RawPeer>> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(std::make_unique<RawPeer>(listener_->listen_address()));
  }
  std::unique_ptr<Connection> connection;
  const rocksdb::Status s = Dial(&connection);
  EXPECT_TRUE(s.ok()) << s.ToString();
  EXPECT_TRUE(silent.front()->ClosedByPeer());
  EXPECT_TRUE(acceptor_.NextRefusal().IsBusy());
}

TEST_F(SocketLimitsTest, IdleConnectionsAreDropped) {
  SocketLimits limits;
  limits.idle_timeout = milliseconds(100);
  Listen(limits);
  std::unique_ptr<Connection> connection;
  ASSERT_TRUE(Dial(&connection).ok());
  const auto far = acceptor_.Next();
  std::string frame;
  const rocksdb::Status s = far->Receive(&frame, kGenerous);
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "idle for 100 ms"));
  EXPECT_TRUE(connection->Receive(&frame, kGenerous).IsIOError());
}

// A listener that takes the connection and never says a word.
class SilentListener {
 public:
  std::string address() const { return raw_.address(); }
  bool taken() const { return taken_; }
  ~SilentListener() { done_ = true; }

 private:
  std::atomic<bool> taken_{false};
  std::atomic<bool> done_{false};
  const RawListener raw_{[this](int) {
    taken_ = true;
    while (!done_) std::this_thread::sleep_for(milliseconds(5));
  }};
};

TEST_F(SocketLimitsTest, ConnectTimesOut) {
  const SilentListener silent;
  std::unique_ptr<Connection> connection;
  const rocksdb::Status s = cluster_.NewTransport(0xd1)->Connect(
      silent.address(), milliseconds(200), nullptr, &connection);
  EXPECT_TRUE(s.IsTimedOut()) << s.ToString();
  EXPECT_TRUE(Mentions(s, silent.address()));
}

TEST_F(SocketLimitsTest, ConnectIsCancelledInTheHandshake) {
  const SilentListener silent;
  std::unique_ptr<Connection> connection;
  const rocksdb::Status s = cluster_.NewTransport(0xd1)->Connect(
      silent.address(), std::chrono::hours(1), [&] { return silent.taken(); },
      &connection);
  EXPECT_TRUE(s.IsAborted()) << s.ToString();
  EXPECT_TRUE(silent.taken());
}

TEST_F(SocketLimitsTest, StoppingIsSafeWhileOthersDial) {
  Listen({});
  const std::string address = listener_->listen_address();
  std::atomic<bool> done{false};
  std::vector<std::thread> dialers;
  for (int i = 0; i < 2; ++i) {
    dialers.emplace_back([&] {
      while (!done) {
        std::unique_ptr<Connection> connection;
        (void)dialer_->Connect(address, kGenerous, nullptr, &connection);
      }
    });
  }
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    listener_->StopListening();
    acceptor_.ListenOn(listener_.get(), address);
  }
  listener_.reset();
  done = true;
  for (std::thread& dialer : dialers) dialer.join();
}

// The transport's thread is busy while a sweep of idle connections falls due,
// so that the sweep comes after what closes the transport.
TEST_F(SocketLimitsTest, NoSweepKeepsAClosedTransportAlive) {
  std::promise<void> busy;
  std::promise<void> leave;
  TlsTransportOptions options = cluster_.Options(0x11);
  constexpr milliseconds kSweepEach{10};
  options.limits.idle_timeout = 4 * kSweepEach;
  options.allow = [&, once = std::make_shared<std::once_flag>()](
                      uint64_t, const std::string&) {
    std::call_once(*once, [&] {
      busy.set_value();
      leave.get_future().wait();
    });
    return true;
  };
  std::shared_ptr<Transport> listener = cluster_.NewTransport(options);
  acceptor_.ListenOn(listener.get());
  const std::string address = listener->listen_address();
  std::thread dialer([&] {
    std::unique_ptr<Connection> connection;
    (void)cluster_.NewTransport(0xd1)->Connect(address, kGenerous, nullptr,
                                               &connection);
  });
  busy.get_future().wait();
  // The timer of the next sweep runs already, and is over by then.
  std::this_thread::sleep_for(kSweepEach);
  std::promise<pid_t> closes;
  std::thread closer([&] {
    closes.set_value(gettid());
    listener.reset();
  });
  EXPECT_TRUE(AwaitBlocked(closes.get_future().get()));
  leave.set_value();
  // Without an end it would have ctest end this program.
  closer.join();
  dialer.join();
}

}  // namespace
}  // namespace rocksync
