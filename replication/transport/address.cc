#include "replication/transport/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "rocksync/transport.h"

namespace rocksync {
namespace {

rocksdb::Status Malformed(const std::string& address, const char* what) {
  return rocksdb::Status::InvalidArgument(
      "address \"" + address + "\" " + what,
      "write host:port, e.g. 127.0.0.1:7400 or [::1]:7400");
}

constexpr size_t kLongestName = 253;  // of a host (RFC 1035, 2.3.4)

bool ParsePort(const std::string& text, uint16_t* port) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *port);
  return error == std::errc() && stop == end && !text.empty();
}

// Returns true if all bytes are printable ASCII. Host names and IP addresses
// have no others, and logs and statistics quote addresses.
bool IsPrintableAscii(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~'; });
}

// Returns true if `host` has only digits and dots, as no host name has, but is
// no IPv4 address as the system reads it (which also takes 127.1).
bool IsWrongNumber(const std::string& host) {
  in_addr ignored;
  return host.find_first_not_of("0123456789.") == std::string::npos &&
         inet_aton(host.c_str(), &ignored) == 0;
}

}  // namespace

rocksdb::Status ParseAddress(const std::string& address, HostPort* parsed) {
  if (!IsPrintableAscii(address)) {
    return Malformed("...",
                     "has a byte that is not printable ASCII (of a name in "
                     "another script the DNS has the form xn--...)");
  }
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return Malformed(address, "has no port");
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return Malformed(address, "is ambiguous");
  }
  if (host.empty()) return Malformed(address, "has no host");
  if (host.size() > kLongestName) {
    return Malformed(address.substr(0, 32) + "...",
                     "has a host of more than 253 characters");
  }
  if (IsWrongNumber(host)) {
    return Malformed(address, "has a host of digits that is no IPv4 address");
  }
  if (!ParsePort(address.substr(colon + 1), &parsed->port)) {
    return Malformed(address, "has a port that is not a number up to 65535");
  }
  parsed->host = host;
  return rocksdb::Status::OK();
}

rocksdb::Status CheckHostPort(const std::string& address) {
  HostPort host_port;
  const rocksdb::Status s = ParseAddress(address, &host_port);
  if (!s.ok() || host_port.port != 0) return s;
  return rocksdb::Status::InvalidArgument(
      "address \"" + address + "\" has port 0, where nobody listens",
      "write host:port with the port that the peer listens on");
}

std::string FormatAddress(const HostPort& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" +
         std::to_string(address.port);
}

}  // namespace rocksync
