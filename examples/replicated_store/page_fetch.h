// A page of another store, asked for over HTTP.

#ifndef ROCKSYNC_EXAMPLES_REPLICATED_STORE_PAGE_FETCH_H_
#define ROCKSYNC_EXAMPLES_REPLICATED_STORE_PAGE_FETCH_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "rocksdb/status.h"

namespace rocksync {

struct FetchLimits {
  // Of the whole answer, with its headers: more than a picture of leaves has,
  // or a status needs.
  size_t bytes = size_t{1} << 20;
  // From the look-up of the host to the last byte.
  std::chrono::milliseconds time{2000};
};

// GETs `path` of `host` (an IPv6 address has no brackets) and returns the body
// of an answer with status 200. Whoever answers is not trusted: whatever he
// sends and however slowly, the call takes no more memory and time than
// `limits` say (the resolver's own time-out apart, where it does not answer).
//
// IOError: no connection, no whole answer within the limits, or another status:
// then it names the status and the first line of the text, in printable ASCII
// and at most 200 bytes.
rocksdb::Status FetchPage(const std::string& host, uint16_t port,
                          const std::string& path, const FetchLimits& limits,
                          std::string* body);

}  // namespace rocksync

#endif  // ROCKSYNC_EXAMPLES_REPLICATED_STORE_PAGE_FETCH_H_
