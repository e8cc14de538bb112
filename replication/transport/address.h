// Parses and formats addresses, "host:port" as written by people.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_ADDRESS_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_ADDRESS_H_

#include <cstdint>
#include <string>

#include "rocksdb/status.h"

namespace rocksync {

struct HostPort {
  std::string host;  // without brackets
  uint16_t port = 0;
};

// Parses "host:port" or "[IPv6]:port". InvalidArgument quotes the address.
rocksdb::Status ParseAddress(const std::string& address, HostPort* parsed);

// Formats an address as ParseAddress reads it; an IPv6 address gets brackets.
std::string FormatAddress(const HostPort& address);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_ADDRESS_H_
