#include "replication/peering/admission.h"

#include <openssl/rand.h>

#include <algorithm>
#include <utility>

#include "replication/base/status.h"
#include "replication/text/escape_text.h"

namespace rocksync {
namespace {

using std::chrono::milliseconds;

rocksdb::Status Draw(AuthNonce* nonce) {
  return RAND_bytes(nonce->data(), static_cast<int>(nonce->size())) == 1
             ? rocksdb::Status::OK()
             : rocksdb::Status::IOError("OpenSSL's RAND_bytes failed",
                                        "check OpenSSL's configuration (FIPS, "
                                        "engines) on this machine");
}

// A connection whose messages share one deadline.
class TimedConnection {
 public:
  TimedConnection(Connection* connection, AdmissionClock::time_point deadline)
      : connection_(connection), deadline_(deadline) {}

  rocksdb::Status Send(const std::string& message) {
    return connection_->Send(message, Left());
  }
  rocksdb::Status Receive(std::string* message) {
    return connection_->Receive(message, Left());
  }
  // Converts `verdict`, and tells the peer, if it still listens, why it is
  // refused (FailedPrecondition).
  rocksdb::Status Judge(const absl::Status& verdict) {
    rocksdb::Status s = ToRocksDb(verdict);
    if (absl::IsFailedPrecondition(verdict)) {
      (void)Send(FarewellMessage(
          {verdict.message().data(), verdict.message().size()}));
    }
    return s;
  }
  rocksdb::Status Admit() {
    connection_->SetFrameLimit(kMaxSetupFrameBytes);
    return rocksdb::Status::OK();
  }

 private:
  milliseconds Left() const {
    return std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(
                                         deadline_ - AdmissionClock::now()));
  }

  Connection* const connection_;
  const AdmissionClock::time_point deadline_;
};

// Compares the cluster names. Both sides read the error's text.
absl::Status CheckCluster(const std::string& listeners,
                          const std::string& dialers) {
  if (listeners == dialers) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "another cluster: the one that dials names \"" + EscapeText(dialers) +
      "\", the replica that it dialed belongs to \"" + EscapeText(listeners) +
      "\"; correct the address, or the cluster's name");
}

}  // namespace

AdmissionConfig AdmissionConfigOf(const ReplicatorContext& replica) {
  const ReplicatedDBOptions& options = replica.db->replication_options();
  return {.cluster = options.cluster_name,
          .secret = options.cluster_secret,
          .shown_id = replica.transport->replica_id(),
          .timeout = std::min(kProveTimeout, replica.options.io_timeout)};
}

rocksdb::Status AuthenticateAsDialer(const AdmissionConfig& config,
                                     Connection* connection,
                                     Admission* admission) {
  TimedConnection peer(connection, AdmissionClock::now() + config.timeout);
  const AuthIds ids = {config.shown_id, connection->peer_replica_id()};
  rocksdb::Status s = Draw(&admission->dialer_nonce);
  if (!s.ok()) return s;
  admission->auth_hello =
      AuthHelloMessage({config.cluster, admission->dialer_nonce});
  s = peer.Send(admission->auth_hello);
  if (s.ok()) s = peer.Receive(&admission->challenge);
  if (s.ok()) {
    s = peer.Judge(ReadChallenge(config.secret, ids, admission->auth_hello,
                                 admission->challenge,
                                 &admission->listener_nonce));
  }
  if (s.ok()) {
    s = peer.Send(ProofMessage(config.secret, ids, admission->auth_hello,
                               admission->challenge));
  }
  return s.ok() ? peer.Admit() : s;
}

rocksdb::Status AuthenticateAsListener(const AdmissionConfig& config,
                                       AdmissionClock::time_point began,
                                       Connection* connection,
                                       Admission* admission) {
  TimedConnection peer(connection, began + config.timeout);
  const AuthIds ids = {connection->peer_replica_id(), config.shown_id};
  rocksdb::Status s;
  if (admission->auth_hello.empty()) s = peer.Receive(&admission->auth_hello);
  AuthHello auth_hello;
  if (s.ok()) s = peer.Judge(ReadAuthHello(admission->auth_hello, &auth_hello));
  if (s.ok()) s = peer.Judge(CheckCluster(config.cluster, auth_hello.cluster));
  if (s.ok()) s = Draw(&admission->listener_nonce);
  if (!s.ok()) return s;
  admission->dialer_nonce = auth_hello.nonce;
  admission->challenge = ChallengeMessage(
      config.secret, ids, admission->auth_hello, admission->listener_nonce);
  s = peer.Send(admission->challenge);
  std::string proof;
  if (s.ok()) s = peer.Receive(&proof);
  if (s.ok()) {
    s = peer.Judge(ReadProof(config.secret, ids, admission->auth_hello,
                             admission->challenge, proof));
  }
  return s.ok() ? peer.Admit() : s;
}

rocksdb::Status ReceiveClusterName(Connection* connection,
                                   AdmissionClock::time_point began,
                                   std::string* auth_hello,
                                   std::string* cluster) {
  TimedConnection peer(connection, began + kProveTimeout);
  AuthHello heard;
  rocksdb::Status s = peer.Receive(auth_hello);
  if (s.ok()) s = peer.Judge(ReadAuthHello(*auth_hello, &heard));
  *cluster = std::move(heard.cluster);
  return s;
}

rocksdb::Status RefuseCluster(Connection* connection,
                              AdmissionClock::time_point began,
                              const std::string& cluster) {
  TimedConnection peer(connection, began + kProveTimeout);
  return peer.Judge(absl::FailedPreconditionError(
      "another cluster: the one that dials names \"" + EscapeText(cluster) +
      "\", of which no replica listens on this port at present; correct the "
      "address or the cluster's name, or start that replica"));
}

}  // namespace rocksync
