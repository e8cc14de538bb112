#include "replication/peering/session_runner.h"

#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "replication/session/messages.h"
#include "tests/support/memory_transport.h"
#include "tests/support/mentions.h"

namespace rocksync {
namespace {

using std::chrono::milliseconds;

// Says what it is told to, expects what it is told to, in turns of one message.
class ScriptedSession : public Session {
 public:
  ScriptedSession(bool first, int turns) : mine_(first), left_(turns) {}

  bool NextMessage(std::string* out) override {
    if (!mine_ || left_ == 0) return false;
    *out = "turn " + std::to_string(left_--);
    mine_ = false;
    return true;
  }
  void ReadAhead() override { ++read_ahead_; }
  absl::Status Receive(std::string_view message) override {
    received_.emplace_back(message);
    if (message == "nonsense") {
      left_ = 1;
      mine_ = true;
      return status_ = absl::InvalidArgumentError("that is nonsense");
    }
    --left_;
    mine_ = true;
    if (peer_wait_ != nullptr) {
      EXPECT_FALSE(peer_wait_->now()) << "it works";
    }
    return absl::OkStatus();
  }
  absl::Status CheckWhileWaiting() override {
    if (families_changed_) {
      left_ = 1;
      mine_ = true;
      status_ = absl::UnavailableError("a family was dropped");
    }
    return status_;
  }
  bool done() const override { return left_ == 0; }
  absl::Status status() const override { return status_; }
  const SessionReport& report() const override { return report_; }

  const std::deque<std::string>& received() const { return received_; }
  int read_ahead() const { return read_ahead_; }
  void Observe(const PeerWait* wait) { peer_wait_ = wait; }
  void ChangeFamilies() { families_changed_ = true; }

 private:
  bool mine_;
  int left_;
  bool families_changed_ = false;
  std::deque<std::string> received_;
  int read_ahead_ = 0;
  const PeerWait* peer_wait_ = nullptr;
  absl::Status status_;
  SessionReport report_;
};

class SessionRunnerTest : public ::testing::Test {
 protected:
  SessionRunEnd Run(Session* session, Connection* connection,
                    std::string first = "") {
    Heartbeat heartbeat(connection, timeout_, [this] { return cancelled_; });
    return DriveSession({.io_timeout = timeout_,
                         .cancelled = [this] { return cancelled_; },
                         .bytes = &bytes_,
                         .peer_wait = &peer_wait_},
                        std::move(first), session, &heartbeat, connection);
  }
  milliseconds timeout_{10'000};
  bool cancelled_ = false;
  PeerWait peer_wait_;
  TokenBucket bytes_;
  const std::string beat_{static_cast<char>(MessageType::kHeartbeat)};
  MemoryPipe pipe_ = NewMemoryPipe();
  ScriptedSession near_{true, 6};
};

TEST_F(SessionRunnerTest, TakesTurnsUntilBothAreDone) {
  ScriptedSession far(false, 6);
  SessionRunEnd far_end;
  std::thread other([&] {
    std::string first;
    ASSERT_TRUE(pipe_.listener->Receive(&first, timeout_).ok());
    far_end = Run(&far, pipe_.listener.get(), first);
  });
  const SessionRunEnd end = Run(&near_, pipe_.dialer.get());
  other.join();
  EXPECT_TRUE(end.status.ok()) << end.status.ToString();
  EXPECT_TRUE(end.connection_usable);
  EXPECT_TRUE(far_end.connection_usable);
  EXPECT_EQ(far.received(),
            (std::deque<std::string>{"turn 6", "turn 4", "turn 2"}));
  EXPECT_EQ(near_.received(),
            (std::deque<std::string>{"turn 5", "turn 3", "turn 1"}));
  // Whenever it waits for the peer.
  EXPECT_EQ(near_.read_ahead(), 3);
  EXPECT_EQ(far.read_ahead(), 2);
}

TEST_F(SessionRunnerTest, LargeFramesBelongToSessions) {
  const std::string large(kMaxSetupFrameBytes + 1, 'x');
  ScriptedSession one(true, 2);
  ASSERT_TRUE(pipe_.listener->Send(large, timeout_).ok());
  ASSERT_TRUE(Run(&one, pipe_.dialer.get()).status.ok());
  EXPECT_EQ(one.received(), std::deque<std::string>{large});
  ASSERT_TRUE(pipe_.listener->Send(large, timeout_).ok());
  std::string frame;
  EXPECT_TRUE(pipe_.dialer->Receive(&frame, timeout_).IsCorruption());
}

TEST_F(SessionRunnerTest, ASilentPeer) {
  timeout_ = milliseconds(50);
  const SessionRunEnd end = Run(&near_, pipe_.dialer.get());
  EXPECT_TRUE(end.status.IsTimedOut()) << end.status.ToString();
  EXPECT_TRUE(Mentions(end.status, "raise io_timeout"));
  EXPECT_FALSE(end.connection_usable);
}

TEST_F(SessionRunnerTest, TellsWhetherItCanOnlyWaitForThePeer) {
  ScriptedSession one(true, 2);
  one.Observe(&peer_wait_);
  std::thread other([&] {
    std::string first;
    ASSERT_TRUE(pipe_.listener->Receive(&first, timeout_).ok());
    while (!peer_wait_.now()) std::this_thread::yield();
    ASSERT_TRUE(pipe_.listener->Send("done", timeout_).ok());
  });
  EXPECT_TRUE(Run(&one, pipe_.dialer.get()).status.ok());
  other.join();
  EXPECT_EQ(one.received(), (std::deque<std::string>{"done"}));
  EXPECT_FALSE(peer_wait_.now());
}

TEST_F(SessionRunnerTest, APeerThatGoes) {
  pipe_.listener->Close();
  const SessionRunEnd end = Run(&near_, pipe_.dialer.get());
  EXPECT_TRUE(end.status.IsIOError()) << end.status.ToString();
  EXPECT_FALSE(end.connection_usable);
}

// Each lets this side wait anew; the session hears of none.
TEST_F(SessionRunnerTest, HeartbeatsAreNoMessages) {
  ScriptedSession one(true, 2);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(pipe_.listener->Send(beat_, timeout_).ok());
  }
  ASSERT_TRUE(pipe_.listener->Send("done", timeout_).ok());
  const SessionRunEnd end = Run(&one, pipe_.dialer.get());
  EXPECT_TRUE(end.status.ok()) << end.status.ToString();
  EXPECT_EQ(one.received(), (std::deque<std::string>{"done"}));
}

TEST_F(SessionRunnerTest, HeartbeatsAreNoExcuseForEver) {
  timeout_ = milliseconds(20);
  std::thread other([&] {
    while (pipe_.listener->Send(beat_, timeout_).ok()) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  const SessionRunEnd end = Run(&near_, pipe_.dialer.get());
  pipe_.dialer->Close();
  other.join();
  EXPECT_TRUE(end.status.IsTimedOut()) << end.status.ToString();
  EXPECT_TRUE(Mentions(end.status, "raise io_timeout"));
  EXPECT_FALSE(end.connection_usable);
  EXPECT_TRUE(near_.received().empty());
}

// Else it would wait for a slow peer, which shows that it is alive.
TEST_F(SessionRunnerTest, AFamilyThatIsDroppedEndsTheWait) {
  ScriptedSession one(true, 4);
  one.ChangeFamilies();
  ASSERT_TRUE(pipe_.listener->Send(beat_, timeout_).ok());
  const SessionRunEnd end = Run(&one, pipe_.dialer.get());
  EXPECT_TRUE(end.status.IsTryAgain()) << end.status.ToString();
  std::string message;
  ASSERT_TRUE(pipe_.listener->Receive(&message, timeout_).ok());
  ASSERT_TRUE(pipe_.listener->Receive(&message, timeout_).ok());
  EXPECT_EQ(message, "turn 1") << "the peer is told";
}

TEST_F(SessionRunnerTest, NoHeartbeatWhileNobodyWaits) {
  Heartbeat heartbeat(pipe_.dialer.get(), timeout_,
                      [this] { return cancelled_; });
  const auto now = Heartbeat::Clock::now();
  EXPECT_FALSE(heartbeat.Poll(now + std::chrono::hours(24)));
  std::string message;
  const milliseconds at_once(0);
  EXPECT_TRUE(pipe_.listener->Receive(&message, at_once).IsTimedOut());

  heartbeat.PeerWaits(now);
  EXPECT_FALSE(heartbeat.Poll(now + milliseconds(999)));
  EXPECT_TRUE(pipe_.listener->Receive(&message, at_once).IsTimedOut());
  EXPECT_FALSE(heartbeat.Poll(now + milliseconds(1'000)));
  ASSERT_TRUE(pipe_.listener->Receive(&message, timeout_).ok());
  EXPECT_EQ(message, "\x1a");
  EXPECT_TRUE(Heartbeat::Is(message));
  // The next one is due a second later.
  EXPECT_FALSE(heartbeat.Poll(now + milliseconds(1'999)));
  EXPECT_TRUE(pipe_.listener->Receive(&message, at_once).IsTimedOut());
  cancelled_ = true;
  EXPECT_TRUE(heartbeat.Poll(now));
}

TEST_F(SessionRunnerTest, NonsenseIsAnsweredByLastWords) {
  ASSERT_TRUE(pipe_.listener->Send("nonsense", timeout_).ok());
  const SessionRunEnd end = Run(&near_, pipe_.dialer.get());
  EXPECT_TRUE(end.status.IsInvalidArgument()) << end.status.ToString();
  EXPECT_FALSE(end.connection_usable);
  std::string message;
  ASSERT_TRUE(pipe_.listener->Receive(&message, timeout_).ok());
  ASSERT_TRUE(pipe_.listener->Receive(&message, timeout_).ok());
  EXPECT_EQ(message, "turn 1");
}

TEST_F(SessionRunnerTest, CancelledWhileTheRateHoldsItBack) {
  bytes_.SetRate(1);
  (void)bytes_.Charge(1'000'000, TokenBucket::Clock::now());
  cancelled_ = true;
  const SessionRunEnd end = Run(&near_, pipe_.dialer.get());
  EXPECT_TRUE(end.status.IsAborted()) << end.status.ToString();
}

TEST_F(SessionRunnerTest, TheRateNeverHoldsBackForLongerThanThePeerWaits) {
  timeout_ = milliseconds(200);
  bytes_.SetRate(1);
  ScriptedSession one(true, 1);
  const SessionRunEnd end = Run(&one, pipe_.dialer.get());
  EXPECT_TRUE(end.status.ok()) << end.status.ToString();
}

}  // namespace
}  // namespace rocksync
