#include "replication/status.h"

#include <string>

namespace rocksync {

rocksdb::Status ToRocksDb(const absl::Status& status) {
  const std::string text(status.message());
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return rocksdb::Status::OK();
    case absl::StatusCode::kInvalidArgument:
      return rocksdb::Status::InvalidArgument(text);
    case absl::StatusCode::kNotFound:
      return rocksdb::Status::NotFound(text);
    case absl::StatusCode::kDataLoss:
      return rocksdb::Status::Corruption(text);
    case absl::StatusCode::kUnavailable:
      return rocksdb::Status::TryAgain(text);
    case absl::StatusCode::kCancelled:
      return rocksdb::Status::Aborted(text);
    case absl::StatusCode::kDeadlineExceeded:
      return rocksdb::Status::TimedOut(text);
    case absl::StatusCode::kUnimplemented:
      return rocksdb::Status::NotSupported(text);
    case absl::StatusCode::kResourceExhausted:
      return rocksdb::Status::TryAgain(text);
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return rocksdb::Status::InvalidArgument(text);
    default:
      return rocksdb::Status::IOError(text);
  }
}

}  // namespace rocksync
