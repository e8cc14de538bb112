// Resyncs whose process dies, at moments all over, with a loss of power.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "rocksync/clone.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/integration/replication/version_of.h"
#include "tests/sanitized.h"
#include "tests/support/forgetful_disk.h"
#include "tests/support/forwarding_connection.h"

namespace rocksync {
namespace {

using rocksdb::Status;

Status Dead() { return Status::IOError("this process is dead"); }

// What the process of a disk says, nobody hears once that was killed.
class MortalConnection : public ForwardingConnection {
 public:
  MortalConnection(std::unique_ptr<Connection> base, const ForgetfulDisk* disk)
      : ForwardingConnection(std::move(base)), disk_(disk) {}
  Status Send(const rocksdb::Slice& frame, milliseconds timeout) override {
    return disk_->killed() ? Dead()
                           : ForwardingConnection::Send(frame, timeout);
  }
  Status Receive(std::string* frame, milliseconds timeout) override {
    return disk_->killed() ? Dead()
                           : ForwardingConnection::Receive(frame, timeout);
  }

 private:
  const ForgetfulDisk* const disk_;
};

class MortalTransport : public Transport {
 public:
  MortalTransport(std::shared_ptr<Transport> base, const ForgetfulDisk* disk)
      : base_(std::move(base)), disk_(disk) {}
  Status Connect(const std::string& address, milliseconds timeout,
                 const std::function<bool()>& cancelled,
                 std::unique_ptr<Connection>* connection) override {
    if (disk_->killed()) return Dead();
    std::unique_ptr<Connection> made;
    const Status s = base_->Connect(address, timeout, cancelled, &made);
    if (s.ok()) {
      *connection = std::make_unique<MortalConnection>(std::move(made), disk_);
    }
    return s;
  }
  Status CheckAddress(const std::string& address) const override {
    return base_->CheckAddress(address);
  }
  Status Listen(const std::string&,
                std::function<void(std::unique_ptr<Connection>)>) override {
    return Status::NotSupported("it only dials");
  }
  std::string listen_address() const override { return ""; }
  uint64_t replica_id() const override { return base_->replica_id(); }
  void StopListening() override {}

 private:
  const std::shared_ptr<Transport> base_;
  const ForgetfulDisk* const disk_;
};

class ResyncCrashTest : public ReplicationTest {
 protected:
  static constexpr uint64_t kNever = uint64_t{1} << 40;
  using Stage = CloneProgress::Stage;

  ResyncCrashTest() : source_(NewReplica("source")) {
    EXPECT_TRUE(IsOk(source_->Start()));
    clone_.source = source_->address();
    clone_.io_timeout = milliseconds(20'000);
    clone_.connections = 1;
    replication_.cluster_name = "test";
    replication_.cluster_secret.fill(7);
    Mount();
    EXPECT_TRUE(IsOk(env_->CreateDir("/disk")));
    WithReplica([&](TestReplica* replica) {
      id_ = replica->id();
      replica->Put("first", "1");
      std::shared_ptr<Transport> transport;
      EXPECT_TRUE(IsOk(replica->NewTransport(&transport)));
      clone_.transport =
          std::make_shared<MortalTransport>(std::move(transport), &disk_);
    });
    held_ = {{"first", "1"}};
  }

  void Mount() { env_ = rocksdb::NewCompositeEnv(disk_.Mount()); }

  // The replica, opened as its application would.
  void WithReplica(const std::function<void(TestReplica*)>& use) {
    TestReplica::Setting setting = SettingOf("unused");
    setting.directory = kDirectory;
    setting.adjust = [this](rocksdb::Options* options, ReplicatedDBOptions*) {
      options->env = env_.get();
    };
    TestReplica replica(setting);
    ASSERT_TRUE(replica.Open()) << replica.open_status().ToString();
    use(&replica);
  }

  // Both go on alone.
  void Part(int round) {
    const std::string name = std::to_string(round);
    for (int i = 0; i < 50; ++i) {
      source_->Put("source" + name + "." + std::to_string(i), name);
    }
    source_->Put("both", "of the source " + name);
    WithReplica([&](TestReplica* replica) {
      replica->Put("own" + name, name);
      replica->Put("both", "of the replica " + name);
      replica->Delete("source" + std::to_string(round - 1) + ".7");
      held_ = replica->Scan();
      wins_ =
          VersionOf(replica->db(), "both") > VersionOf(source_->db(), "both");
    });
  }

  // Dies at the `calls`-th change of its disk in this stage or after it.
  Status Resync(Stage stage, uint64_t calls) {
    rocksdb::DBOptions options;
    options.env = env_.get();
    bool armed = false;
    clone_.progress = [&](const CloneProgress& progress) {
      if (progress.stage != stage || std::exchange(armed, true)) return;
      begun_ = disk_.calls();
      disk_.KillAfter(calls);
    };
    ResyncResult result;
    return ReplicatedDB::Resync(options, replication_, kDirectory,
                                {{rocksdb::kDefaultColumnFamilyName, {}}},
                                {.copy = clone_, .copy_from_share = 0},
                                &result);
  }

  // As it was, or resynced; nothing in between.
  void ExpectOneOfTheTwo() {
    Contents merged = source_->Scan();
    for (const auto& [key, value] : held_) {
      if (key.starts_with("own") || (key == "both" && wins_) ||
          key == "first") {
        merged[key] = value;
      }
    }
    WithReplica([&](TestReplica* replica) {
      EXPECT_EQ(replica->id(), id_);
      Contents now = replica->Scan();
      const bool resynced = now.size() > held_.size();
      resynced_ += resynced ? 1 : 0;
      // What it deleted.
      if (resynced) {
        std::erase_if(merged, [&](const auto& pair) {
          return pair.first.starts_with("source") &&
                 pair.first.ends_with(".7") && now.count(pair.first) == 0;
        });
      }
      EXPECT_EQ(now, resynced ? merged : held_);
    });
  }

  void DieAllOver(Stage stage, int deaths) {
    Part(1);
    ASSERT_TRUE(IsOk(Resync(stage, kNever)));
    const uint64_t calls = disk_.calls() - begun_;
    ASSERT_GT(calls, 20u);
    uint64_t died = 0;
    for (int round = 2; round < 2 + deaths; ++round) {
      Part(round);
      Mount();
      // Every other time around the switch, which is in the middle.
      const uint64_t at = round % 2 == 0
                              ? random_() % calls
                              : calls * 48 / 100 + random_() % (calls / 12);
      SCOPED_TRACE("at change " + std::to_string(at) + " of " +
                   std::to_string(calls));
      (void)Resync(stage, at);
      died += disk_.killed() ? 1 : 0;
      disk_.LosePower([this](uint64_t n) { return random_() % n; });
      Mount();
      ExpectOneOfTheTwo();
      if (HasFailure()) return;
      const Status s = Resync(Stage::kAsking, kNever);
      ASSERT_TRUE(IsOk(s));
    }
    EXPECT_GT(died, 0u);
    RecordProperty("resynced", std::to_string(resynced_));
  }

  static constexpr char kDirectory[] = "/disk/db";
  std::unique_ptr<TestReplica> source_;
  ForgetfulDisk disk_;
  std::unique_ptr<rocksdb::Env> env_;
  uint64_t id_ = 0;
  Contents held_;
  bool wins_ = false;  // the replica's version of "both"
  ReplicatedDBOptions replication_;
  CloneOptions clone_;
  uint64_t begun_ = 0;
  int resynced_ = 0;
  std::mt19937_64 random_{39};
};

TEST_F(ResyncCrashTest, WhileItCopies) {
  DieAllOver(Stage::kCopying, kSanitized ? 4 : 8);
}

TEST_F(ResyncCrashTest, FromTheOpeningOfTheCopyToTheEnd) {
  constexpr int kTimes = kSanitized ? 12 : 24;
  DieAllOver(Stage::kCarryingOver, kTimes);
  // The switch is in it.
  EXPECT_GT(resynced_, 0);
  EXPECT_LT(resynced_, kTimes);
}

}  // namespace
}  // namespace rocksync
