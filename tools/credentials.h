// What lets a tool talk to running replicas: a certificate of the cluster's CA
// and the cluster's secret, as replicas have them.

#ifndef ROCKSYNC_TOOLS_CREDENTIALS_H_
#define ROCKSYNC_TOOLS_CREDENTIALS_H_

#include <cstdint>
#include <iosfwd>
#include <string>

#include "replication/admin/admin_client.h"
#include "rocksync/tls_transport.h"

namespace rocksync {

struct Credentials {
  std::string cluster;  // name
  // For trials: the directory that replicated_store's --certificates names.
  std::string trial_directory;
  // Else:
  TlsTransportOptions tls;
  // 32 bytes; empty: the file trial-secret of `trial_directory`.
  std::string secret_file;
  // How long a replica that is asked, or copied, may be silent.
  uint64_t peer_timeout_ms = 30'000;
};

// Reads the secret alone, for an offline database.
rocksdb::Status ReadClusterSecret(const Credentials& credentials,
                                  ClusterSecret* secret);

// Says on `err` which of its private files (the key and the secret) every user
// of this machine may read.
void WarnOfOpenFiles(const Credentials& credentials, std::ostream& err);
// The same of one file.
void WarnIfOpenToAll(const std::string& file, std::ostream& err);

// InvalidArgument: `where` is no host:port. `or_directory`: the command would
// have taken a directory, too.
rocksdb::Status CheckAddress(const std::string& where, bool or_directory);

// Makes a certificate of `replica_id` in the directory of a trial cluster, for
// `*tls` to use.
rocksdb::Status UseTrialCertificate(const std::string& directory,
                                    uint64_t replica_id,
                                    TlsTransportOptions* tls);

// Of a replica, by its own certificate; for trials that of `trial_id`, which is
// made if it is not there.
rocksdb::Status MakeReplicaTransport(const Credentials& credentials,
                                     uint64_t trial_id,
                                     std::shared_ptr<Transport>* transport);

// Whom to ask and how; `target->address` is left alone. The certificate may
// name any id: a tool is no replica. For trials one is made in the directory.
rocksdb::Status MakeTarget(const Credentials& credentials, AdminTarget* target);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_CREDENTIALS_H_
