#include "replication/peering/timeout_remedy.h"

#include <string>

namespace rocksync {

rocksdb::Status AddTimeoutRemedy(const rocksdb::Status& status) {
  if (!status.IsTimedOut()) return status;
  constexpr char kRemedy[] =
      "if the link is slow, raise io_timeout on both sides (--peer-timeout-ms)";
  const char* const state = status.getState();
  const std::string text = state == nullptr ? "" : state;
  // An error may pass through two callers of this function.
  if (text.find(kRemedy) != std::string::npos) return status;
  return rocksdb::Status::TimedOut(text, kRemedy);
}

}  // namespace rocksync
