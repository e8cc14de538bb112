// More replicas than each has sessions and streams with, over a transport in
// this process and real RocksDB. Sessions an hour apart: what arrives came by
// streams, or by a session that one of them asked for.

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replication/session/messages.h"
#include "rocksync/transport.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/support/forwarding_connection.h"
#include "tests/support/memory_transport.h"

namespace rocksync {
namespace {

// Connections over which the side that dialed has asked for a stream.
struct DialedStreams {
  std::atomic<size_t> open{0};
  std::atomic<size_t> most{0};  // at once
};

class WatchedConnection : public ForwardingConnection {
 public:
  WatchedConnection(std::unique_ptr<Connection> connection,
                    std::shared_ptr<DialedStreams> streams)
      : ForwardingConnection(std::move(connection)),
        streams_(std::move(streams)) {}
  ~WatchedConnection() override {
    if (is_stream_) --streams_->open;
  }

  rocksdb::Status Send(const rocksdb::Slice& frame,
                       milliseconds timeout) override {
    if (!is_stream_ && !frame.empty() &&
        frame[0] == static_cast<char>(MessageType::kStreamOpen)) {
      is_stream_ = true;
      const size_t open = ++streams_->open;
      size_t most = streams_->most;
      while (open > most && !streams_->most.compare_exchange_weak(most, open)) {
      }
    }
    return ForwardingConnection::Send(frame, timeout);
  }

 private:
  const std::shared_ptr<DialedStreams> streams_;
  bool is_stream_ = false;
};

class WatchedTransport : public Transport {
 public:
  WatchedTransport(std::shared_ptr<Transport> transport,
                   std::shared_ptr<DialedStreams> streams)
      : transport_(std::move(transport)), streams_(std::move(streams)) {}

  rocksdb::Status Connect(const std::string& address, milliseconds timeout,
                          const std::function<bool()>& cancelled,
                          std::unique_ptr<Connection>* connection) override {
    std::unique_ptr<Connection> made;
    const rocksdb::Status status =
        transport_->Connect(address, timeout, cancelled, &made);
    if (status.ok()) {
      *connection =
          std::make_unique<WatchedConnection>(std::move(made), streams_);
    }
    return status;
  }
  rocksdb::Status Listen(
      const std::string& address,
      std::function<void(std::unique_ptr<Connection>)> accept) override {
    return transport_->Listen(address, std::move(accept));
  }
  std::string listen_address() const override {
    return transport_->listen_address();
  }
  uint64_t replica_id() const override { return transport_->replica_id(); }
  void StopListening() override { transport_->StopListening(); }

 private:
  const std::shared_ptr<Transport> transport_;
  const std::shared_ptr<DialedStreams> streams_;
};

class ManyPeers : public ReplicationTest {
 protected:
  struct Member {
    std::unique_ptr<TestReplica> database;
    std::shared_ptr<DialedStreams> streams = std::make_shared<DialedStreams>();
    std::unique_ptr<Replicator> replicator;
  };

  static std::string Name(size_t i) { return "r" + std::to_string(i); }

  void TearDown() override {
    for (Member& member : members_) member.replicator.reset();
  }

  // Each has all others as its peers.
  void StartAll(size_t replicas,
                const std::function<void(size_t, ReplicatorOptions*)>& adjust) {
    members_.resize(replicas);
    for (size_t i = 0; i < replicas; ++i) {
      members_[i].database = NewReplica(Name(i));
      ReplicatorOptions options = TestReplica::Hourly();
      options.listen_address = Name(i);
      adjust(i, &options);
      for (size_t peer = 0; peer < replicas; ++peer) {
        if (peer != i) options.peers.push_back(Name(peer));
      }
      options_.push_back(options);
      Start(i);
    }
  }
  void Start(size_t i) {
    Member* const member = &members_[i];
    ASSERT_TRUE(IsOk(Replicator::Start(
        options_[i], member->database->db(),
        std::make_shared<WatchedTransport>(
            network_->Join(member->database->id()), member->streams),
        &member->replicator)));
  }

  StreamStats StreamsOf(size_t i) const {
    return members_[i].replicator->stats().stream;
  }

  // Whether what each writes now is soon at all who run.
  void ExpectWritesEverywhere(const std::string& key) {
    size_t written = 0;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].replicator == nullptr) continue;
      members_[i].database->Put(key + Name(i), "v");
      ++written;
    }
    for (size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].replicator == nullptr) continue;
      EXPECT_TRUE(Eventually([&] {
        size_t found = 0;
        for (const auto& [there, value] : members_[i].database->Scan()) {
          found += there.rfind(key, 0) == 0;
        }
        return found == written;
      })) << Name(i)
          << " has " << StreamsOf(i).open << " streams";
    }
  }

  const std::shared_ptr<MemoryNetwork> network_ = NewMemoryNetwork();
  std::vector<Member> members_;
  std::vector<ReplicatorOptions> options_;
};

TEST_F(ManyPeers, StreamsToAFewBringEveryWriteEverywhere) {
  constexpr size_t kReplicas = 12;
  StartAll(kReplicas, [](size_t, ReplicatorOptions* options) {
    options->max_stream_peers = 3;
  });
  ASSERT_TRUE(Eventually([&] {
    for (size_t i = 0; i < kReplicas; ++i) {
      if (StreamsOf(i).open < 3) return false;
    }
    return true;
  }));
  ExpectWritesEverywhere("first ");
  ExpectWritesEverywhere("second ");
  uint64_t ends = 0;
  for (size_t i = 0; i < kReplicas; ++i) {
    EXPECT_LE(members_[i].streams->most, 3u) << Name(i);
    ends += StreamsOf(i).open;
  }
  EXPECT_LE(ends, 2 * 3 * kReplicas);
  EXPECT_GE(ends, 3 * kReplicas);
}

TEST_F(ManyPeers, WhoseNeighboursGoFindsOthers) {
  constexpr size_t kReplicas = 8;
  StartAll(kReplicas, [](size_t, ReplicatorOptions* options) {
    options->max_stream_peers = 3;
  });
  ExpectWritesEverywhere("all ");
  for (size_t i = 0; i < kReplicas / 2; ++i) members_[i].replicator.reset();
  ASSERT_TRUE(Eventually([&] {
    for (size_t i = kReplicas / 2; i < kReplicas; ++i) {
      if (StreamsOf(i).open < 3) return false;
    }
    return true;
  }));
  ExpectWritesEverywhere("half ");
  for (size_t i = 0; i < kReplicas / 2; ++i) Start(i);
  ExpectWritesEverywhere("again ");
}

TEST_F(ManyPeers, EachZoneIsConnectedAndBothWithOneAnother) {
  constexpr size_t kReplicas = 10;
  StartAll(kReplicas, [](size_t i, ReplicatorOptions* options) {
    options->max_stream_peers = 3;
    options->zone = i < 3 ? "small" : "large";
  });
  // Of the small zone both others, and one of the large one.
  ASSERT_TRUE(Eventually([&] {
    for (size_t i = 0; i < kReplicas; ++i) {
      if (StreamsOf(i).open < 3) return false;
    }
    return true;
  }));
  ExpectWritesEverywhere("zones ");
}

TEST_F(ManyPeers, StopsWhileNeighboursAreReplaced) {
  constexpr size_t kReplicas = 8;
  StartAll(kReplicas, [](size_t i, ReplicatorOptions* options) {
    options->max_stream_peers = 1;
    if (i % 2 == 1) options->stream = false;  // takes none, and is replaced
  });
  for (size_t i = 0; i < kReplicas; i += 2) {
    members_[i].database->Put(Name(i), "v");
  }
  for (Member& member : members_) member.replicator->Stop();
  for (size_t i = 0; i < kReplicas; ++i) {
    EXPECT_EQ(StreamsOf(i).open, 0u);
    EXPECT_EQ(members_[i].streams->open, 0u);
  }
}

}  // namespace
}  // namespace rocksync
