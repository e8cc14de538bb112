#include "replication/store/write/callback_scope.h"

#include <string>
#include <utility>

#include "replication/base/forked.h"

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

const char* TextOf(Callback callback) {
  switch (callback) {
    case Callback::kUpdate:
      return "the function that Update calls";
    case Callback::kApplyHook:
      return "the apply hook";
    case Callback::kProgress:
      return "the progress callback";
    case Callback::kDifference:
      break;
  }
  return "the function that Verify calls";
}

}  // namespace

CallbackScope::CallbackScope(const IndexedDB* indexed, Callback callback)
    : indexed_(indexed),
      callback_(callback),
      outer_(std::exchange(innermost, this)) {}

CallbackScope::~CallbackScope() {
  innermost = outer_;
  if (callback_ != Callback::kUpdate && InForkedChild()) {
    EndForkedChild(TextOf(callback_));
  }
}

const CallbackScope* CallbackScope::Innermost(const IndexedDB* indexed) {
  const CallbackScope* scope = innermost;
  while (scope != nullptr && scope->indexed_ != indexed) scope = scope->outer_;
  return scope;
}

rocksdb::Status CheckNotInCallback(const IndexedDB* indexed) {
  // None of these functions can begin a session or an update of the same
  // database, so the innermost scope tells.
  const CallbackScope* const scope = CallbackScope::Innermost(indexed);
  const bool locks =
      scope != nullptr && (scope->callback_ == Callback::kUpdate ||
                           scope->callback_ == Callback::kApplyHook);
  return locks ? RefuseIn(scope->callback_) : rocksdb::Status::OK();
}

const char* CallbackHere(const IndexedDB* indexed) {
  const CallbackScope* const scope = CallbackScope::Innermost(indexed);
  return scope == nullptr ? nullptr : TextOf(scope->callback_);
}

bool IsInCallback() { return innermost != nullptr; }

rocksdb::Status CheckMayWait(const IndexedDB* indexed, const char* call) {
  if (InForkedChild()) {
    return rocksdb::Status::NotSupported(
        std::string("rocksync: ") + call +
            " in a child of the process that opened the database, whose "
            "threads are not here",
        "call it there; a child may exec, or leave by _exit");
  }
  const char* const here = CallbackHere(indexed);
  return here == nullptr ? rocksdb::Status::OK()
                         : rocksdb::Status::InvalidArgument(
                               std::string("rocksync: ") + call + " in " +
                                   here + " would wait for its own thread",
                               "let another thread call it, and do not wait "
                               "for that one there");
}

}  // namespace rocksync
