#include "replication/store/write/callback_scope.h"

#include <utility>

namespace rocksync {
namespace {

thread_local const CallbackScope* innermost = nullptr;

rocksdb::Status RefuseIn(Callback callback) {
  if (callback == Callback::kUpdate) {
    return rocksdb::Status::InvalidArgument(
        "rocksync: a write by the function that Update calls, while the update "
        "holds the locks of its keys",
        "name all keys to Update, or write after it");
  }
  return rocksdb::Status::InvalidArgument(
      "rocksync: a write by the apply hook, while the locks of its changes' "
      "keys are held",
      "let another thread write, and do not wait for it in the hook");
}

}  // namespace

CallbackScope::CallbackScope(const IndexedDB* indexed, Callback callback)
    : indexed_(indexed),
      callback_(callback),
      outer_(std::exchange(innermost, this)) {}

CallbackScope::~CallbackScope() { innermost = outer_; }

rocksdb::Status CheckNotInCallback(const IndexedDB* indexed) {
  const CallbackScope* scope = innermost;
  while (scope != nullptr && scope->indexed_ != indexed) scope = scope->outer_;
  return scope == nullptr ? rocksdb::Status::OK() : RefuseIn(scope->callback_);
}

}  // namespace rocksync
