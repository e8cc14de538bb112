#include "tests/crash/child.h"

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "replication/store/store_access.h"
#include "replication/store/upkeep/membership.h"
#include "rocksync/replicator.h"
#include "tests/crash/fault.h"
#include "tests/crash/journal.h"
#include "tests/crash/load.h"
#include "tests/crash/lost_power.h"
#include "tests/crash/phase.h"
#include "tests/crash/promises.h"
#include "tests/crash/writer.h"
#include "tests/support/trial_transport.h"

namespace rocksync::crash {
namespace {

using std::chrono::milliseconds;

// Says what peers sent.
class TellingHook final : public ApplyHook {
 public:
  void BeforeApply(const std::vector<AppliedChange>& changes) override {
    for (const AppliedChange& change : changes) {
      const auto key = ParseKeyName(change.key.ToStringView());
      if (!key) Fail("a strange key came: " + change.key.ToString());
      const auto writer = WriterOf(*key, change.value.ToStringView());
      Say("came " + std::to_string(*key) + " " +
          std::to_string(change.version.time) + " " +
          std::to_string(change.version.replica) + " " +
          std::to_string(change.tombstone ? 0 : writer.value_or(0)));
    }
  }
};

class Child {
 public:
  explicit Child(const ChildOptions& options)
      : options_(options), fault_(FaultNames().at(options.fault)) {
    if (options.tell_syncs) {
      env_ = NewTellingEnv([this](const std::string& line) { TellSync(line); });
    }
    std::shared_ptr<ApplyHook> hook;
    if (options.tell_peers) hook = std::make_shared<TellingHook>();
    MustBeOk(
        Replica::Open(options.directory, false, env_.get(), &replica_, hook),
        "open");
    Say("open");
    if (options.tell_peers) {
      Say("replica " + std::to_string(replica_->db()->Identity().replica_id));
      threads_.emplace_back([this] { SpeakUntilStopped(); });
    }
    if (heals()) StartReplicator();
    writer_ = std::make_unique<Writer>(replica_.get(), fault_);
    for (uint32_t i = 0; i < kThreads; ++i) {
      threads_.emplace_back([this, i] { WriteUntilStopped(i); });
    }
    threads_.emplace_back([this] {
      RunPhase(kPhases[options_.phase], options_.directory, replica_.get(),
               stop_);
    });
  }

  void Close() {
    EndLoad();
    Say("begin-phase 1");
    MustBeOk(replica_->Close(), "close");
    Say("end-phase 1");
  }

  void EndLoad() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  void Settle() {
    EndLoad();
    Say("quiet");
    if (options_.peers.empty()) return;
    for (const std::string& peer : options_.peers) {
      if (fault_ == Fault::kSayEqual) break;
      MustBeOk(SyncUntilEqual(peer), "sync with the peer");
      if (replica_->db()->GetIndexStats().wrong_digests > 0) {
        MustBeOk(rocksdb::Status::Corruption("digests were wrong"), "sync");
      }
    }
    Say("equal");
  }

  // An operator's mistake, or a list that somebody was quicker with, is none of
  // ours.
  void SetMembers(const std::string& request) {
    std::istringstream in(request);
    uint64_t epoch = 0;
    std::vector<uint64_t> ids;
    in >> epoch;
    for (uint64_t id = 0; in >> id;) ids.push_back(id);
    replica_->db()->SetMembers(epoch, ids).PermitUncheckedError();
  }

 private:
  bool heals() const { return !options_.listen.empty(); }

  void TellSync(const std::string& line) const {
    const bool of_log =
        line.size() > 4 && line.substr(line.size() - 4) == ".log";
    if (fault_ == Fault::kLoseSyncs && of_log && line.rfind("synced", 0) == 0) {
      return;
    }
    Say(line);
  }

  // What a peer that it meets now would hear, and collects what it may.
  void SpeakUntilStopped() {
    while (!stop_) {
      const ReplicaIdentity me = replica_->db()->Identity();
      const Announcement now =
          StoreAccess::MembershipOf(replica_->db())->Announce();
      const GcState& gc = now.gc;
      const Member* const member = gc.Find(me.replica_id);
      Say("said " + std::to_string(gc.epoch) + " " +
          std::to_string(StableTimeInList(gc)) + " " +
          std::to_string(gc.stable_time) + " " +
          std::to_string(member != nullptr ? member->acknowledged : 0) + " " +
          std::to_string(now.reading) + " " + std::to_string(me.incarnation));
      replica_->db()->CollectTombstones().PermitUncheckedError();
      std::this_thread::sleep_for(milliseconds(5));
    }
  }

  void StartReplicator() {
    std::shared_ptr<Transport> transport;
    MustBeOk(
        NewTrialTransport(options_.certificates,
                          replica_->db()->Identity().replica_id, &transport),
        "transport");

    ReplicatorOptions options;
    options.listen_address = options_.listen;
    options.peers = options_.peers;
    options.interval = milliseconds(10);
    options.io_timeout = milliseconds(5000);
    options.progress = [](const SessionProgress&) { Say("session"); };
    rocksdb::Status started;
    for (int tries = 0; tries < 100; ++tries) {
      started =
          Replicator::Start(options, replica_->db(), transport, &replicator_);
      // The port that it had may be that of somebody's connection meanwhile.
      if (started.ToString().find("already in use") == std::string::npos) break;
      std::this_thread::sleep_for(milliseconds(100));
    }
    MustBeOk(started, "replicator");
    Say("listen " + replicator_->listen_address());
  }

  void WriteUntilStopped(uint32_t thread) {
    // Seldom where syncs by the library are what is asked for.
    Load load(options_.seed, options_.kill, options_.replica, thread, heals(),
              options_.tell_peers ? 200 : 6);
    while (!stop_) {
      writer_->Run(load.Next());
      // Two replicas at full speed would never have anything in common.
      if (heals()) std::this_thread::sleep_for(milliseconds(1));
    }
  }

  rocksdb::Status SyncUntilEqual(const std::string& peer) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (true) {
      const rocksdb::Status status = replicator_->SyncNow(peer);
      if (status.ok() || std::chrono::steady_clock::now() > deadline) {
        return status;
      }
      std::this_thread::sleep_for(milliseconds(20));
    }
  }

  const ChildOptions options_;
  const Fault fault_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<Replicator> replicator_;
  std::unique_ptr<Writer> writer_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace

int RunChild(const ChildOptions& options) {
  Child child(options);
  for (std::string request; std::getline(std::cin, request);) {
    if (request == "settle") child.Settle();
    if (request == "quiet") {
      child.EndLoad();
      Say("quiet");
    }
    if (request.rfind("members ", 0) == 0) child.SetMembers(request.substr(8));
    if (request == "close") {
      child.Close();
      return 0;
    }
  }
  // The parent is gone.
  _exit(1);
}

}  // namespace rocksync::crash
