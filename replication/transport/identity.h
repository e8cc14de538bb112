// Which replica a certificate speaks for.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_IDENTITY_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_IDENTITY_H_

#include <openssl/x509.h>

#include <cstdint>
#include <string>

#include "rocksdb/status.h"

namespace rocksync {

// The subjectAltName that names a replica: "rocksync:replica:<16 hex digits>".
std::string ReplicaUri(uint64_t replica_id);

// PureLeaves the one such name of `certificate`. InvalidArgument says what was
// expected: none is there, two are, or it is malformed, or the id is 0.
rocksdb::Status ReplicaIdOf(const X509* certificate, uint64_t* replica_id);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_IDENTITY_H_
