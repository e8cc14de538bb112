#include "tools/counterpart.h"

#include <filesystem>
#include <utility>

#include "replication/admin/admin_client.h"
#include "replication/base/status.h"
#include "replication/peering/monotonic_ms.h"
#include "replication/peering/verified_peer.h"
#include "replication/store/offline/offline_replica.h"
#include "tools/offline_db.h"

namespace rocksync {
namespace {

using rocksdb::Status;

class Running final : public Counterpart {
 public:
  Status Open(const std::string& address, const Credentials& credentials,
              const std::vector<std::string>& families) {
    AdminTarget target;
    Status status = CheckAddress(address, /*or_directory=*/true);
    if (status.ok()) status = MakeTarget(credentials, &target);
    target.address = address;
    Request request;
    request.kind = Request::Kind::kCompare;
    request.families = families;
    if (status.ok())
      status = AdminClient::Open(target, request, &admin_client_);
    std::string granted;
    return status.ok() ? admin_client_->Answer({}, &granted) : status;
  }

  Status Compare(StorageView* mine, const VerifyTask& task,
                 SessionReport* report) override {
    return admin_client_->Compare(mine, task, report);
  }

 private:
  std::unique_ptr<AdminClient> admin_client_;
};

class Offline final : public Counterpart {
 public:
  Status Open(const std::string& directory, const Credentials& credentials,
              const std::vector<std::string>& wal_dirs,
              const std::vector<std::string>& families) {
    ClusterSecret secret;
    Status status = ReadClusterSecret(credentials, &secret);
    if (status.ok()) status = OfflineDB::Open(directory, wal_dirs, &db_);
    if (status.ok()) {
      status = OfflineReplica::Open(db_->db(), db_->handles(),
                                    credentials.cluster, secret, &replica_);
    }
    return status.ok() ? CheckSameFamilies(replica_->family_names(), families)
                       : status;
  }

  Status Compare(StorageView* mine, const VerifyTask& task,
                 SessionReport* report) override {
    SessionSeed seed;
    seed.session_number = sessions_++;
    SessionContext context;
    context.storage = mine;
    context.now_ms = MonotonicMs;
    context.verify = &task;
    const std::unique_ptr<Session> left =
        NewSession(Role::kInitiator, SessionOptions(), seed, context);
    const std::unique_ptr<StorageView> view = replica_->NewView();
    context.storage = view.get();
    context.verify = nullptr;
    context.verify_only = true;
    const std::unique_ptr<Session> right =
        NewSession(Role::kResponder, SessionOptions(), seed, context);
    Session* speaker = left.get();
    Session* listener = right.get();
    std::string message;
    for (bool spoke = true; spoke; std::swap(speaker, listener)) {
      spoke = false;
      while (speaker->NextMessage(&message)) {
        spoke = true;
        if (!listener->Receive(message).ok()) break;
      }
    }
    *report = left->report();
    const Status status = ToRocksDb(left->status());
    return status.ok() ? ToRocksDb(right->status()) : status;
  }

 private:
  std::unique_ptr<OfflineDB> db_;
  std::unique_ptr<OfflineReplica> replica_;
  uint64_t sessions_ = 0;
};

}  // namespace

Status Counterpart::Open(const std::string& where,
                         const Credentials& credentials,
                         const std::vector<std::string>& wal_dirs,
                         const std::vector<std::string>& families,
                         std::unique_ptr<Counterpart>* counterpart) {
  std::error_code ignored;
  Status status;
  if (std::filesystem::is_directory(where, ignored)) {
    auto offline = std::make_unique<Offline>();
    status = offline->Open(where, credentials, wal_dirs, families);
    *counterpart = std::move(offline);
  } else {
    auto running = std::make_unique<Running>();
    status = running->Open(where, credentials, families);
    *counterpart = std::move(running);
  }
  return status;
}

}  // namespace rocksync
