#include "replication/base/status.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "replication/text/storage_errors.h"

namespace rocksync {
namespace {

// Some of the text came from a peer, and it goes into logs.
std::string Printable(absl::string_view text) {
  std::string printable(text);
  for (char& c : printable) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return printable;
}

}  // namespace

absl::Status ToAbsl(const rocksdb::Status& status) {
  using Code = rocksdb::Status::Code;
  if (status.IsNoSpace()) {
    std::string text = status.ToString();
    // Errors of this library say so already.
    if (text.find("make room") == std::string::npos) {
      text +=
          "; make room on that disk, then RocksDB and replication go on by "
          "themselves";
    }
    absl::Status full = absl::ResourceExhaustedError(text);
    full.SetPayload(kNoSpacePayload, absl::Cord());
    return full;
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

std::string ToldToPeer(const rocksdb::Status& status) {
  if (status.IsNoSpace()) return kNoSpaceThere;
  if (status.IsIOError()) return "its storage failed (IO error), see its log";
  if (status.IsCorruption()) {
    return "its storage failed (corruption), see its log";
  }
  return status.ToString();
}

const char* StorageRemedy(const rocksdb::Status& status) {
  if (status.IsNoSpace()) {
    return "make room on that disk, then writes go on by themselves";
  }
  return status.IsCorruption() ? kCorruptionRemedy
                               : "remove the cause, and restart this replica";
}

rocksdb::Status NameOwnStorage(const rocksdb::Status& status) {
  if (!status.IsIOError() && !status.IsCorruption()) return status;
  const std::string whole = status.ToString();
  absl::string_view text = whole;
  // The new status adds this prefix again.
  for (const absl::string_view kind :
       {"IO error: ", "Corruption: ", "No space left on device: "}) {
    absl::ConsumePrefix(&text, kind);
  }
  const std::string named = absl::StrCat(
      "this replica's storage failed: ", text, "; ", StorageRemedy(status));
  if (status.IsCorruption()) return rocksdb::Status::Corruption(named);
  return status.IsNoSpace() ? rocksdb::Status::NoSpace(named)
                            : rocksdb::Status::IOError(named);
}

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

rocksdb::Status NoThread(const std::string& reason) {
  return rocksdb::Status::Aborted(absl::StrCat(
      "cannot start a thread", reason.empty() ? "" : ": ", reason,
      "; raise the limit of threads (ulimit -u, TasksMax of a systemd unit), "
      "then start again"));
}

}  // namespace rocksync
