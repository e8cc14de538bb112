// Maps certificates to the replicas that they name.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_IDENTITY_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_IDENTITY_H_

#include <openssl/x509.h>

#include <cstdint>
#include <string>

#include "rocksdb/status.h"

namespace rocksync {

// Returns the subjectAltName that names a replica:
// "rocksync:replica:<16 hex digits>".
std::string ReplicaUri(uint64_t replica_id);

// Finds the one such name of `certificate`. Returns InvalidArgument, with what
// was expected, if there is none, more than one, or a malformed one, or if the
// id is 0.
rocksdb::Status ReplicaIdOf(const X509* certificate, uint64_t* replica_id);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_IDENTITY_H_
