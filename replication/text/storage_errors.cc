#include "replication/text/storage_errors.h"

#include "absl/strings/cord.h"

namespace rocksync {

absl::Status IndexBuildError(absl::string_view why) {
  absl::Status status = absl::UnavailableError(why);
  status.SetPayload(kIndexBuildPayload, absl::Cord());
  return status;
}

bool IsIndexBuildError(const absl::Status& status) {
  return status.GetPayload(kIndexBuildPayload).has_value();
}

}  // namespace rocksync
