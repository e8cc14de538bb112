#include "replication/introduction.h"

#include <openssl/rand.h>

#include <utility>

#include "replication/protocol/messages.h"
#include "replication/protocol/setup.h"
#include "replication/status.h"
#include "replication/store/store_access.h"

namespace rocksync {
namespace {

// A set-up is a few hundred bytes, and whoever is at the other end has proved
// nothing yet.
constexpr std::chrono::milliseconds kSetupTimeout{10'000};

rocksdb::Status FactsOf(const Replica& replica, SetupFacts* facts) {
  facts->cluster = replica.db->replication_options().cluster_name;
  facts->replica_id = replica.identity.replica_id;
  facts->incarnation = {replica.identity.incarnation,
                        replica.identity.incarnation_nonce};
  for (const std::string& name : replica.db->ReplicatedFamilies()) {
    facts->families.push_back({name, ""});
  }
  if (RAND_bytes(facts->nonce.data(), static_cast<int>(facts->nonce.size())) !=
      1) {
    return rocksdb::Status::Aborted("no random bytes from OpenSSL");
  }
  return rocksdb::Status::OK();
}

class IntroductionTalk {
 public:
  IntroductionTalk(Replica* replica, Connection* connection, Setup* setup)
      : replica_(replica),
        connection_(connection),
        setup_(setup),
        timeout_(std::min(kSetupTimeout, replica->options.io_timeout)) {}

  rocksdb::Status Run() {
    while (!setup_->done()) {
      rocksdb::Status s = Speak();
      if (!s.ok()) return s;
      if (setup_->done()) break;
      std::string message;
      s = connection_->Receive(&message, timeout_);
      if (!s.ok()) return s;
      (void)setup_->Receive(message);  // its status is asked for below
    }
    return ToRocksDb(setup_->status());
  }

 private:
  rocksdb::Status Speak() {
    std::string message;
    while (setup_->NextMessage(&message)) {
      rocksdb::Status s = connection_->Send(message, timeout_);
      if (!s.ok()) return s;
    }
    return rocksdb::Status::OK();
  }

  Replica* const replica_;
  Connection* const connection_;
  Setup* const setup_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace

rocksdb::Status Introduce(Replica* replica, Role role, Connection* connection,
                          Introduction* met) {
  met->view = StoreAccess::NewView(replica->db);
  SetupFacts facts;
  rocksdb::Status s = FactsOf(*replica, &facts);
  if (!s.ok()) return s;
  SetupPolicy policy;
  policy.authenticated_id = connection->peer_replica_id();
  Setup setup(role, facts, replica->db->replication_options().cluster_secret,
              policy);
  s = IntroductionTalk(replica, connection, &setup).Run();
  if (!s.ok()) return s;
  const SetupFacts& peer = setup.peer();
  met->peer_id = peer.replica_id;
  met->seed = setup.seed();
  return replica->db->RememberPeer(
      {.replica_id = peer.replica_id,
       .incarnation = peer.incarnation.counter,
       .incarnation_nonce = peer.incarnation.random});
}

}  // namespace rocksync
