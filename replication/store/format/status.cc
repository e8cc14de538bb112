#include "replication/store/format/status.h"

#include <string>

namespace rocksync {

absl::Status ToAbsl(const rocksdb::Status& status) {
  using Code = rocksdb::Status::Code;
  if (status.IsNoSpace()) {
    std::string text = status.ToString();
    // Our own says so already.
    if (text.find("make room") == std::string::npos) {
      text +=
          "; make room on that disk, then RocksDB and replication go on by "
          "themselves";
    }
    return absl::ResourceExhaustedError(text);
  }
  switch (status.code()) {
    case Code::kOk:
      return absl::OkStatus();
    case Code::kNotFound:
      return absl::NotFoundError(status.ToString());
    case Code::kCorruption:
      return absl::DataLossError(status.ToString());
    case Code::kColumnFamilyDropped:
      return absl::FailedPreconditionError(status.ToString());
    case Code::kNotSupported:
      return absl::UnimplementedError(status.ToString());
    case Code::kInvalidArgument:
      return absl::InvalidArgumentError(status.ToString());
    case Code::kBusy:
    case Code::kTryAgain:
    case Code::kIncomplete:
      return absl::UnavailableError(status.ToString());
    case Code::kAborted:
    case Code::kShutdownInProgress:
      return absl::AbortedError(status.ToString());
    default:
      return absl::InternalError(status.ToString());
  }
}

}  // namespace rocksync
