#include "tools/ask_replicas.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "replication/admin/admin_client.h"
#include "replication/admin/admin_messages.h"
#include "replication/membership/authentication.h"
#include "replication/peering/heartbeat.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using std::chrono::milliseconds;

// Of a replica that let us in and says nothing more.
class SilentConnection : public Connection {
 public:
  Status Send(const rocksdb::Slice& /*frame*/,
              milliseconds /*timeout*/) override {
    return Status::OK();
  }
  Status Receive(std::string* /*frame*/, milliseconds timeout) override {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [this] { return closed_; })
               ? Status::Aborted("closed")
               : Status::TimedOut("silent");
  }
  void SetFrameLimit(size_t /*bytes*/) override {}
  uint64_t peer_replica_id() const override { return 1; }
  std::string peer_name() const override { return "silent"; }
  uint64_t bytes_sent() const override { return 0; }
  uint64_t bytes_received() const override { return 0; }
  void Close() override {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
};

// Of a replica that answers with `reply`.
class TalkingConnection : public SilentConnection {
 public:
  TalkingConnection(const ClusterSecret& secret, Reply reply)
      : secret_(secret), reply_(std::move(reply)) {}

  Status Send(const rocksdb::Slice& frame, milliseconds /*timeout*/) override {
    if (hello_.empty()) hello_ = frame.ToString();
    return Status::OK();
  }
  Status Receive(std::string* frame, milliseconds /*timeout*/) override {
    *frame = challenged_ ? ReplyMessage(reply_)
                         : ChallengeMessage(secret_, {0, peer_replica_id()},
                                            hello_, AuthNonce{});
    challenged_ = true;
    return Status::OK();
  }

 private:
  const ClusterSecret secret_;
  const Reply reply_;
  std::string hello_;
  bool challenged_ = false;
};

// Of a replica that works on its answer, and then freezes.
class FreezingConnection final : public TalkingConnection {
 public:
  explicit FreezingConnection(int heartbeats)
      : TalkingConnection(ClusterSecret{}, {}), heartbeats_(heartbeats) {}

  Status Receive(std::string* frame, milliseconds timeout) override {
    if (!challenged_) {
      challenged_ = true;
      return TalkingConnection::Receive(frame, timeout);
    }
    if (heartbeats_-- <= 0) return SilentConnection::Receive(frame, timeout);
    *frame = Heartbeat::Message();
    return Status::OK();
  }

 private:
  int heartbeats_;
  bool challenged_ = false;
};

// Nobody is at "down:1"; "connecting:1" does not even let us in.
class SilentTransport : public Transport {
 public:
  Status Connect(const std::string& address, milliseconds /*timeout*/,
                 const std::function<bool()>& cancelled,
                 std::unique_ptr<Connection>* connection) override {
    if (address == "down:1") return Status::IOError("nobody listens");
    while (address == "connecting:1" && !cancelled()) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    if (address == "connecting:1") return Status::Aborted("cancelled");
    *connection = std::make_unique<SilentConnection>();
    return Status::OK();
  }
  Status Listen(
      const std::string& /*address*/,
      std::function<void(std::unique_ptr<Connection>)> /*accept*/) override {
    return Status::NotSupported();
  }
  std::string listen_address() const override { return ""; }
  void StopListening() override {}
};

// What all replicas answer at which this is asked.
class TalkingTransport final : public SilentTransport {
 public:
  explicit TalkingTransport(Reply reply) : reply_(std::move(reply)) {}

  Status Connect(const std::string& /*address*/, milliseconds /*timeout*/,
                 const std::function<bool()>& /*cancelled*/,
                 std::unique_ptr<Connection>* connection) override {
    *connection = std::make_unique<TalkingConnection>(ClusterSecret{}, reply_);
    return Status::OK();
  }

 private:
  const Reply reply_;
};

class FreezingTransport final : public SilentTransport {
 public:
  explicit FreezingTransport(int heartbeats) : heartbeats_(heartbeats) {}

  Status Connect(const std::string& /*address*/, milliseconds /*timeout*/,
                 const std::function<bool()>& /*cancelled*/,
                 std::unique_ptr<Connection>* connection) override {
    *connection = std::make_unique<FreezingConnection>(heartbeats_);
    return Status::OK();
  }

 private:
  const int heartbeats_;
};

AdminTarget Target() {
  AdminTarget target;
  target.transport = std::make_shared<SilentTransport>();
  target.cluster = "test";
  target.timeout = std::chrono::hours(1);
  return target;
}

TEST(AskReplicasTest, GivesUpThoseThatHaveNotAnsweredInTime) {
  const auto answers =
      AskReplicas(Target(), {"down:1", "silent:1", "connecting:1"},
                  {.time = milliseconds(300), .stop = {}});
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_TRUE(answers[0].status.IsIOError()) << answers[0].status.ToString();
  for (size_t i = 1; i < answers.size(); ++i) {
    EXPECT_TRUE(answers[i].status.IsTimedOut()) << answers[i].status.ToString();
    EXPECT_FALSE(answers[i].stats.has_value());
    EXPECT_LT(answers[i].seconds, 30);
  }
}

TEST(AskReplicasTest, StopsWhenItIsTold) {
  std::atomic<bool> stop{false};
  std::thread stopping([&stop] {
    std::this_thread::sleep_for(milliseconds(100));
    stop = true;
  });
  const auto answers =
      AskReplicas(Target(), {"silent:1", "connecting:1"},
                  {.time = {}, .stop = [&] { return stop.load(); }});
  stopping.join();
  ASSERT_EQ(answers.size(), 2u);
  for (const ReplicaAnswer& answer : answers) {
    EXPECT_TRUE(answer.status.IsAborted()) << answer.status.ToString();
  }
}

ReplicaAnswer AnswerWhere(Reply reply) {
  AdminTarget target = Target();
  target.transport = std::make_shared<TalkingTransport>(std::move(reply));
  return AskReplicas(target, {"a:1"}, {}).at(0);
}

TEST(AskReplicasTest, WhatAReplicaSaysHasNoControlCharacters) {
  EXPECT_EQ(AnswerWhere({.kind = Reply::Kind::kError,
                         .text = "Corruption: \x1b[2J\nforged\xff\x7f"})
                .status.ToString(),
            "Corruption: the replica at a:1 says: ?[2J?forged??");
}

TEST(AskReplicasTest, SaysWhatIsWrongWithAnAnswer) {
  const auto why = [](const std::string& text) {
    return AnswerWhere({.kind = Reply::Kind::kDone, .text = text})
        .status.ToString();
  };
  EXPECT_EQ(why("no JSON"), "Corruption: the answer is no JSON object");
  EXPECT_EQ(why("{}"), "Corruption: the answer tells no replica id");
  EXPECT_EQ(why(R"({"replica_id":"00000000000000a1"})"), "OK");
}

// An answer of several lines is waited for as long as the replica works on it.
TEST(AdminClientTest, GivesUpAReplicaThatFreezesWhileItWorks) {
  AdminTarget target = Target();
  target.timeout = milliseconds(50);
  target.transport = std::make_shared<FreezingTransport>(3);
  Request request;
  request.kind = Request::Kind::kVerify;
  std::unique_ptr<AdminClient> client;
  std::string last;
  ASSERT_TRUE(AdminClient::Open(target, request, &client).ok());
  EXPECT_TRUE(client->Answer([](const std::string&) {}, &last).IsTimedOut());
  // Where one line is due nobody could be kept waiting by heartbeats.
  ASSERT_TRUE(AdminClient::Open(target, request, &client).ok());
  const Status status = client->Answer(nullptr, &last);
  EXPECT_FALSE(status.ok() || status.IsTimedOut()) << status.ToString();
}

}  // namespace
}  // namespace rocksync
