// Calls of the library from its own callbacks that would wait for the thread
// that makes them. Each test would hang if they were not refused.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rocksync/hooks.h"
#include "tests/integration/replication/replica_fixture.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// What calls that wait said in a callback.
struct Said {
  std::vector<std::pair<std::string, Status>> of;

  // Calls all of them.
  void Ask(TestReplica* replica, const std::string& peer) {
    Replicator* const replicator = replica->replicator();
    VerifyResult result;
    std::shared_ptr<Transport> transport;
    std::unique_ptr<Replicator> second;
    EXPECT_TRUE(IsOk(replica->NewTransport(&transport)));
    of = {{"Replicator::Start",
           Replicator::Start({}, replica->db(), transport, &second)},
          {"SyncNow", replicator->SyncNow(peer)},
          {"Verify", replicator->Verify(peer, {}, nullptr, &result)},
          {"ScrubNow", replicator->ScrubNow()}};
    const Status closed = replica->db()->Close();
    EXPECT_TRUE(closed.IsAborted()) << closed.ToString();
    // These do not wait.
    replicator->Pause();
    replicator->Resume();
    EXPECT_TRUE(IsOk(replicator->SetLimits(replicator->limits())));
    EXPECT_EQ(replicator->stats().replica_id, replica->id());
  }
  void ExpectRefused(const std::string& callback) const {
    EXPECT_EQ(of.size(), 4u) << callback;
    for (const auto& [call, status] : of) {
      EXPECT_TRUE(status.IsInvalidArgument()) << call << status.ToString();
      EXPECT_TRUE(Mentions(status, call + " in " + callback));
    }
  }
};

class Callbacks : public ReplicationTest {
 protected:
  Callbacks() : a_(NewReplica("a")), b_(NewReplica("b")) {
    EXPECT_TRUE(IsOk(b_->Start()));
  }
  void ExpectGoesOn() {
    a_->Put("later", "x");
    EXPECT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address())));
    EXPECT_EQ(a_->Scan(), b_->Scan());
    a_->Stop();
    a_->Close();
  }

  std::unique_ptr<TestReplica> a_;
  std::unique_ptr<TestReplica> b_;
  Said said_;
};

TEST_F(Callbacks, ProgressInTheThreadOfSyncNow) {
  ReplicatorOptions options = TestReplica::OnDemand();
  options.progress = [this](const SessionProgress& progress) {
    if (progress.finished && said_.of.empty())
      said_.Ask(a_.get(), b_->address());
  };
  ASSERT_TRUE(IsOk(a_->Start(options)));
  ASSERT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address())));
  said_.ExpectRefused("the progress callback");
  ExpectGoesOn();
}

// Also where the peer is not reached, in a thread of the replicator's own.
TEST_F(Callbacks, ProgressOfAnAttempt) {
  ReplicatorOptions options = TestReplica::OnDemand();
  options.interval = milliseconds(1);
  options.peers = {"127.0.0.1:1"};
  std::atomic<bool> started{false};
  std::atomic<bool> asked{false};
  options.progress = [&](const SessionProgress& progress) {
    if (progress.peer != "127.0.0.1:1" || !started || asked) return;
    said_.Ask(a_.get(), b_->address());
    asked = true;
  };
  ASSERT_TRUE(IsOk(a_->Start(options)));
  started = true;
  ASSERT_TRUE(Eventually([&] { return asked.load(); }));
  ExpectGoesOn();
  said_.ExpectRefused("the progress callback");
}

// Each of two sessions waits for the other one.
TEST_F(Callbacks, ProgressOfTwoDatabasesThatSyncEachOther) {
  const std::string nobody = "127.0.0.1:1";
  const std::unique_ptr<TestReplica> c = NewReplica("c");
  std::latch both(2);
  std::array<Status, 2> said;
  const auto start = [&](TestReplica* one, TestReplica* other, Status* status) {
    ReplicatorOptions options = TestReplica::OnDemand();
    options.io_timeout = milliseconds(200);
    options.progress =
        [&, other, status,
         asked = std::make_shared<std::once_flag>()](const SessionProgress&) {
          std::call_once(*asked, [&] {
            both.arrive_and_wait();
            *status = other->replicator()->SyncNow(nobody);
          });
        };
    ASSERT_TRUE(IsOk(one->Start(options)));
  };
  start(a_.get(), c.get(), &said[0]);
  start(c.get(), a_.get(), &said[1]);
  std::thread other(
      [&] { EXPECT_FALSE(c->replicator()->SyncNow(nobody).ok()); });
  EXPECT_FALSE(a_->replicator()->SyncNow(nobody).ok());
  other.join();
  // The one that gave up first lets the other one go on.
  EXPECT_TRUE(said[0].IsBusy() || said[1].IsBusy())
      << said[0].ToString() << said[1].ToString();
  EXPECT_FALSE(said[0].ok() || said[1].ok());
}

TEST_F(Callbacks, DifferencesOfVerify) {
  ASSERT_TRUE(IsOk(a_->Start()));
  a_->Put("k", "v");
  VerifyOptions options;
  options.in_flight_wait = milliseconds(0);
  VerifyResult result;
  EXPECT_TRUE(IsOk(a_->replicator()->Verify(
      b_->address(), options,
      [this](const KeyDifference&) { said_.Ask(a_.get(), b_->address()); },
      &result)));
  EXPECT_EQ(result.differences, 1u);
  said_.ExpectRefused("the function that Verify calls");
  ExpectGoesOn();
}

TEST_F(Callbacks, FunctionOfAnUpdate) {
  ASSERT_TRUE(IsOk(a_->Start()));
  EXPECT_TRUE(IsOk(a_->db()->Update(
      {}, a_->db()->DefaultColumnFamily(), "k",
      [this](std::optional<std::string>* value) {
        said_.Ask(a_.get(), b_->address());
        EXPECT_TRUE(a_->db()->WaitForIndexBuild(0).IsInvalidArgument());
        *value = "v";
        return Status::OK();
      })));
  said_.ExpectRefused("the function that Update calls");
  ExpectGoesOn();
}

TEST_F(Callbacks, CloseInTheFunctionOfAnUpdateLeavesTheDatabaseOpen) {
  Status closed;
  EXPECT_TRUE(IsOk(a_->db()->Update({}, a_->db()->DefaultColumnFamily(), "k",
                                    [&](std::optional<std::string>* value) {
                                      closed = a_->db()->Close();
                                      *value = "v";
                                      return Status::OK();
                                    })));
  EXPECT_TRUE(closed.IsAborted()) << closed.ToString();
  EXPECT_TRUE(Mentions(closed, "in the function that Update calls"));
  ASSERT_TRUE(IsOk(a_->Start()));
  ExpectGoesOn();
}

class AskingHook : public ApplyHook {
 public:
  void BeforeApply(const std::vector<AppliedChange>&) override {
    if (ask) std::exchange(ask, nullptr)();
  }
  std::function<void()> ask;
};

TEST_F(Callbacks, Hook) {
  const auto hook = std::make_shared<AskingHook>();
  TestReplica::Setting setting = SettingOf("hooked");
  setting.adjust = [&](rocksdb::Options*, ReplicatedDBOptions* options) {
    options->hook = hook;
  };
  a_ = std::make_unique<TestReplica>(setting);
  ASSERT_TRUE(a_->Open());
  ASSERT_TRUE(IsOk(a_->Start()));
  hook->ask = [this] { said_.Ask(a_.get(), b_->address()); };
  b_->Put("k", "v");
  ASSERT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address())));
  said_.ExpectRefused("the apply hook");
  ExpectGoesOn();
}

// Where the child of a death test, too, sets up what it does not remove as it
// dies.
class TemporaryFilesIn {
 public:
  explicit TemporaryFilesIn(const std::string& directory) {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    setenv("TMPDIR", directory.c_str(), 1);
  }
  ~TemporaryFilesIn() {
    if (before_) {
      setenv("TMPDIR", before_->c_str(), 1);
    } else {
      unsetenv("TMPDIR");
    }
  }

 private:
  std::optional<std::string> before_;
};

// It returns nothing that could say so.
TEST_F(Callbacks, StopEndsTheProcessWithAMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const TemporaryFilesIn directory(directory_.path());
  EXPECT_DEATH(
      {
        ReplicatorOptions options = TestReplica::OnDemand();
        options.progress = [this](const SessionProgress&) {
          a_->replicator()->Stop();
        };
        if (a_->Start(options).ok()) {
          a_->replicator()->SyncNow("127.0.0.1:1").PermitUncheckedError();
        }
      },
      "Replicator::Stop in the progress callback would wait for its own");
}

}  // namespace
}  // namespace rocksync
