#include "replication/peering/status.h"

#include <string>

namespace rocksync {
namespace {

// Some of it came from a peer and goes into logs.
std::string Printable(absl::string_view text) {
  std::string printable(text);
  for (char& c : printable) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return printable;
}

}  // namespace

rocksdb::Status ToRocksDb(const absl::Status& status) {
  const std::string text = Printable(status.message());
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
