// Bytes that no replica sends, from a peer with a good certificate: each costs
// its own connection and nothing else.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "tests/unit/replication/transport/cluster.h"
#include "tests/unit/replication/transport/raw_peer.h"

namespace rocksync {
namespace {

class HostilePeer : public ::testing::Test {
 protected:
  HostilePeer() {
    listener_ = cluster_.NewTransport(0x11);
    acceptor_.ListenOn(listener_.get());
  }
  // An authenticated raw connection, welcomed, and our end of it.
  void Meet(int receive_buffer = 0) {
    near_ =
        std::make_unique<RawPeer>(listener_->listen_address(), receive_buffer);
    ASSERT_TRUE(near_->StartTls(own_));
    ASSERT_EQ(near_->Read(1), std::string(1, '\0'));
    far_ = acceptor_.Next();
    ASSERT_NE(far_, nullptr);
    far_->SetFrameLimit(kMaxFrameBytes);
  }

  TestCluster cluster_;
  const CertificateAndKey own_ = cluster_.Issue(0xbad);
  Acceptor acceptor_;
  std::shared_ptr<Transport> listener_;
  std::unique_ptr<RawPeer> near_;
  std::unique_ptr<Connection> far_;
  std::string frame_;
};

TEST_F(HostilePeer, OversizedClaim) {
  Meet();
  ASSERT_TRUE(near_->Write("\x81\x80\x80\x08"));
  const rocksdb::Status s = far_->Receive(&frame_, kGenerous);
  EXPECT_TRUE(s.IsCorruption()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "claims 16777217 bytes"));
  EXPECT_TRUE(near_->ClosedByPeer());
  EXPECT_TRUE(far_->Send("x", kGenerous).IsCorruption()) << "and it stays so";
}

TEST_F(HostilePeer, EndlessLength) {
  Meet();
  ASSERT_TRUE(near_->Write("\xff\xff\xff\xff\xff"));
  EXPECT_TRUE(far_->Receive(&frame_, kGenerous).IsCorruption());
}

TEST_F(HostilePeer, EmptyFrame) {
  Meet();
  ASSERT_TRUE(near_->Write(std::string(1, '\0')));
  EXPECT_TRUE(far_->Receive(&frame_, kGenerous).IsCorruption());
  EXPECT_TRUE(near_->ClosedByPeer());
}

TEST_F(HostilePeer, FrameTruncatedAtEveryOffset) {
  const std::string frame = "\x82\x01" + std::string(130, 'x');
  for (size_t size = 0; size < frame.size(); size += size < 8 ? 1 : 31) {
    Meet();
    ASSERT_TRUE(near_->Write(std::string_view(frame).substr(0, size)));
    near_.reset();
    const rocksdb::Status s = far_->Receive(&frame_, kGenerous);
    EXPECT_TRUE(s.IsIOError()) << size << ": " << s.ToString();
  }
}

TEST_F(HostilePeer, HalfAFrameIsNothingYet) {
  Meet();
  Told told;
  ASSERT_TRUE(far_->WhenReceivable(told.Come()));
  const uint64_t before = far_->bytes_received();
  ASSERT_TRUE(
      near_->Write("\x05"
                   "ab"));
  while (far_->bytes_received() == before) std::this_thread::yield();
  EXPECT_EQ(told.times(), 0);
  ASSERT_TRUE(near_->Write("cde"));
  ASSERT_TRUE(told.Await(1));
  EXPECT_TRUE(far_->Receive(&frame_, milliseconds(0)).ok());
  EXPECT_EQ(frame_, "abcde");
  ASSERT_TRUE(far_->WhenReceivable(told.Come()));
  ASSERT_TRUE(
      near_->Write("\x05"
                   "ab"));
  near_.reset();
  ASSERT_TRUE(told.Await(2));
  EXPECT_TRUE(far_->Receive(&frame_, milliseconds(0)).IsIOError());
}

TEST_F(HostilePeer, HalfAFrameAndThenSilence) {
  Meet();
  ASSERT_TRUE(
      near_->Write("\x05"
                   "ab"));
  const rocksdb::Status s = far_->Receive(&frame_, milliseconds(300));
  EXPECT_TRUE(s.IsTimedOut()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "part of a frame"));
  EXPECT_TRUE(near_->ClosedByPeer());
  EXPECT_TRUE(far_->Receive(&frame_, kGenerous).IsTimedOut());
}

// A byte each 20 ms, for more than `timeout` in all.
TEST_F(HostilePeer, AFrameOfASlowLinkMayTakeItsTime) {
  constexpr milliseconds kTimeout(1500);
  const std::string frame = "\x64" + std::string(100, 'x');
  const auto drip = [&] {
    for (const char byte : frame) {
      std::this_thread::sleep_for(milliseconds(20));
      if (!near_->Write({&byte, 1})) return;
    }
  };
  for (const bool patient : {false, true}) {
    Meet();
    if (patient) far_->SetFrameTimeout(20 * kTimeout);
    std::thread dripping(drip);
    const rocksdb::Status s = far_->Receive(&frame_, kTimeout);
    dripping.join();
    EXPECT_EQ(s.ok(), patient) << s.ToString();
    EXPECT_EQ(s.IsTimedOut(), !patient) << s.ToString();
  }
}

// What of a record of TLS has come cannot be decoded before the rest has.
TEST_F(HostilePeer, ARecordOfASlowLinkMayTakeItsTime) {
  constexpr milliseconds kTimeout(1000);
  Meet();
  far_->SetFrameTimeout(20 * kTimeout);
  const std::string record = near_->Encrypt("\x64" + std::string(100, 'x'));
  std::thread dripping([&] {
    for (const char byte : record) {
      std::this_thread::sleep_for(milliseconds(20));
      if (!near_->WriteRaw({&byte, 1})) return;
    }
  });
  const rocksdb::Status s = far_->Receive(&frame_, kTimeout);
  dripping.join();
  EXPECT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(frame_, std::string(100, 'x'));
}

TEST_F(HostilePeer, AFrameToASlowReaderMayTakeItsTime) {
  Meet();
  constexpr milliseconds kTimeout(1000);
  far_->SetFrameTimeout(60 * kTimeout);
  std::thread reading([this] {
    for (size_t bytes = 0; bytes < kMaxFrameBytes;) {
      std::this_thread::sleep_for(milliseconds(80));
      const size_t read = near_->Read(size_t{256} << 10).size();
      if (read == 0) return;
      bytes += read;
    }
  });
  const rocksdb::Status s =
      far_->Send(std::string(kMaxFrameBytes, 'x'), kTimeout);
  reading.join();
  EXPECT_TRUE(s.ok()) << s.ToString();
}

// What is on its way when Send returns takes 1.5 times as long to be read as a
// peer may be silent. Its machine acknowledges about `kBuffer` at a time, so
// that its signs of life are 3/8 of that silence apart.
TEST_F(HostilePeer, ASlowReaderMayAnswerOnceItHasRead) {
  constexpr int kBuffer = 64 << 10;
  constexpr size_t kPiece = size_t{8} << 10;
  constexpr size_t kFrame = size_t{4} << 20;
  constexpr size_t kOnItsWay = size_t{256} << 10;  // about; not less
  constexpr milliseconds kTimeout(2000);
  constexpr milliseconds kPause(kTimeout.count() * 3 / 2 * kPiece / kOnItsWay);
  Meet(kBuffer);
  far_->SetFrameTimeout(60 * kTimeout);
  std::thread reading([this, kPause] {
    for (size_t bytes = 0; bytes < kFrame;) {
      const bool slowly = bytes + kOnItsWay >= kFrame;
      std::this_thread::sleep_for(slowly ? kPause : milliseconds(10));
      const size_t read = near_->Read(slowly ? kPiece : kBuffer).size();
      if (read == 0) return;
      bytes += read;
    }
    (void)near_->Write(
        "\x06"
        "answer");
  });
  rocksdb::Status s = far_->Send(std::string(kFrame, 'x'), kTimeout);
  EXPECT_TRUE(s.ok()) << s.ToString();
  s = far_->Receive(&frame_, kTimeout);
  reading.join();
  EXPECT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(frame_, "answer");
}

// The peer's machine acknowledges what was sent to it, its process has frozen.
// Seen by order alone: a wait of one and three quarters of the timeout, without
// a limit for the frame, ends later.
TEST_F(HostilePeer, WhoFreezesIsSilentForOneTimeoutOnly) {
  constexpr milliseconds kTimeout(2000);
  Meet();
  const std::unique_ptr<RawPeer> other_near = std::move(near_);
  const std::unique_ptr<Connection> other_far = std::move(far_);
  Meet();
  far_->SetFrameTimeout(20 * kTimeout);
  std::atomic<bool> longer_wait_is_over{false};
  std::thread longer([&] {
    std::string none;
    EXPECT_TRUE(other_far->Receive(&none, kTimeout * 7 / 4).IsTimedOut());
    longer_wait_is_over = true;
  });
  ASSERT_TRUE(far_->Send("a question", kTimeout).ok());
  const rocksdb::Status s = far_->Receive(&frame_, kTimeout);
  EXPECT_FALSE(longer_wait_is_over);
  longer.join();
  EXPECT_TRUE(s.IsTimedOut()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "sent nothing for 2000 ms"));
}

// As on a stream, over which both send whenever they have something.
TEST_F(HostilePeer, WhatAFrozenOneIsSentMeanwhileIsNoSignOfItsLife) {
  constexpr milliseconds kTimeout(1000);
  Meet();
  far_->SetFrameTimeout(5 * kTimeout);
  far_->SetPeerSendsUnasked();
  std::atomic<bool> ended{false};
  std::thread sending([&] {
    while (!ended && far_->Send("alive", kTimeout).ok()) {
      std::this_thread::sleep_for(kTimeout / 10);
    }
  });
  const rocksdb::Status s = far_->Receive(&frame_, kTimeout);
  ended = true;
  sending.join();
  EXPECT_TRUE(s.IsTimedOut()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "sent nothing for 1000 ms"));
}

TEST_F(HostilePeer, AFrameThatDripsForeverEnds) {
  Meet();
  far_->SetFrameTimeout(milliseconds(300));
  ASSERT_TRUE(near_->Write("\x82\x01"));
  std::atomic<bool> ended{false};
  std::thread dripping([&] {
    while (!ended && near_->Write("x")) {
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  const rocksdb::Status s = far_->Receive(&frame_, milliseconds(150));
  ended = true;
  dripping.join();
  EXPECT_TRUE(s.IsTimedOut()) << s.ToString();
}

TEST_F(HostilePeer, HalfAFrameDoesNoHarmToWhoOnlyLooks) {
  Meet();
  ASSERT_TRUE(
      near_->Write("\x05"
                   "ab"));
  rocksdb::Status s;
  const auto until = std::chrono::steady_clock::now() + kGenerous;
  while (!Mentions(s, "part of a frame") &&
         std::chrono::steady_clock::now() < until) {
    s = far_->Receive(&frame_, milliseconds(0));
    ASSERT_TRUE(s.IsTimedOut()) << s.ToString();
  }
  EXPECT_TRUE(Mentions(s, "part of a frame"));
  ASSERT_TRUE(near_->Write("cde"));
  ASSERT_TRUE(far_->Receive(&frame_, kGenerous).ok());
  EXPECT_EQ(frame_, "abcde");
}

TEST_F(HostilePeer, Reset) {
  Meet();
  near_->Reset();
  const rocksdb::Status s = far_->Receive(&frame_, kGenerous);
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_TRUE(far_->Send("x", kGenerous).IsIOError()) << "and no SIGPIPE";
}

TEST_F(HostilePeer, SendingToThePeerThatHasGone) {
  Meet();
  near_.reset();
  rocksdb::Status s;
  for (int i = 0; i < 100 && s.ok(); ++i) {
    s = far_->Send(std::string(100'000, 'x'), kGenerous);
  }
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
}

TEST_F(HostilePeer, ListenerThatIsNoReplica) {
  const auto dialer = cluster_.NewTransport(0xd1);
  std::unique_ptr<Connection> connection;
  const RawListener web([](int fd) {
    char request[4096];
    if (::recv(fd, request, sizeof request, 0) <= 0) return;
    const std::string answer = "HTTP/1.1 400 Bad Request\r\n\r\n";
    ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
  });
  const rocksdb::Status s =
      dialer->Connect(web.address(), kGenerous, nullptr, &connection);
  EXPECT_TRUE(s.IsNotSupported()) << s.ToString();
  EXPECT_TRUE(Mentions(s, web.address() + " does not speak TLS"));
}

TEST_F(HostilePeer, TheListenerServesTheNextOne) {
  Meet();
  ASSERT_TRUE(near_->Write("\xff\xff\xff\xff"));
  EXPECT_FALSE(far_->Receive(&frame_, kGenerous).ok());
  Meet();
  ASSERT_TRUE(
      near_->Write("\x02"
                   "ok"));
  EXPECT_TRUE(far_->Receive(&frame_, kGenerous).ok());
  EXPECT_EQ(frame_, "ok");
}

}  // namespace
}  // namespace rocksync
