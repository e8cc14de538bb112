#include "tests/crash/child.h"

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "rocksync/replicator.h"
#include "rocksync/tls_transport.h"
#include "rocksync/trial_certificates.h"
#include "tests/crash/fault.h"
#include "tests/crash/journal.h"
#include "tests/crash/load.h"
#include "tests/crash/lost_power.h"
#include "tests/crash/phase.h"
#include "tests/crash/writer.h"

namespace rocksync::crash {
namespace {

using std::chrono::milliseconds;

class Child {
 public:
  explicit Child(const ChildOptions& options)
      : options_(options), fault_(FaultNames().at(options.fault)) {
    if (options.tell_syncs) env_ = NewTellingEnv();
    MustBeOk(Replica::Open(options.directory, false, env_.get(), &replica_),
             "open");
    Say("open");
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

  void Settle() {
    EndLoad();
    Say("quiet");
    if (options_.peer.empty()) return;
    if (fault_ != Fault::kSayEqual) {
      MustBeOk(SyncUntilEqual(), "sync with the peer");
    }
    Say("equal");
  }

 private:
  bool heals() const { return !options_.listen.empty(); }

  void StartReplicator() {
    TrialCertificate certificate;
    MustBeOk(MakeTrialCertificate(options_.certificates,
                                  replica_->db()->Identity().replica_id,
                                  &certificate),
             "certificate");
    TlsTransportOptions tls;
    tls.ca_file = certificate.ca_file;
    tls.certificate_file = certificate.certificate_file;
    tls.private_key_file = certificate.private_key_file;
    std::shared_ptr<Transport> transport;
    MustBeOk(NewTlsTransport(tls, &transport), "transport");

    ReplicatorOptions options;
    options.listen_address = options_.listen;
    if (!options_.peer.empty()) options.peers = {options_.peer};
    options.interval = milliseconds(10);
    options.io_timeout = milliseconds(5000);
    options.progress = [](const SessionProgress&) { Say("session"); };
    MustBeOk(
        Replicator::Start(options, replica_->db(), transport, &replicator_),
        "replicator");
    Say("listen " + replicator_->listen_address());
  }

  void WriteUntilStopped(uint32_t thread) {
    Load load(options_.seed, options_.kill, options_.replica, thread, heals());
    while (!stop_) {
      writer_->Run(load.Next());
      // Two replicas at full speed would never have anything in common.
      if (heals()) std::this_thread::sleep_for(milliseconds(1));
    }
  }

  void EndLoad() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  rocksdb::Status SyncUntilEqual() {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (true) {
      const rocksdb::Status status = replicator_->SyncNow(options_.peer);
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
    if (request == "close") {
      child.Close();
      return 0;
    }
  }
  // The parent is gone.
  _exit(1);
}

}  // namespace rocksync::crash
