// What a C program sees of changes from peers, before they are applied.

#include <cstddef>
#include <memory>
#include <vector>

#include "bindings/c/objects.h"
#include "rocksync/c.h"
#include "rocksync/hooks.h"

namespace {

class CallbackHook : public rocksync::ApplyHook {
 public:
  using Destructor = void (*)(void* state);
  using BeforeApplyFunction = void (*)(void* state,
                                       const rocksync_changes_t* changes);

  CallbackHook(void* state, Destructor destructor,
               BeforeApplyFunction before_apply)
      : state_(state), destructor_(destructor), before_apply_(before_apply) {}
  ~CallbackHook() override {
    if (destructor_ != nullptr) destructor_(state_);
  }

  void BeforeApply(
      const std::vector<rocksync::AppliedChange>& changes) override {
    static const std::vector<uint64_t> not_told;
    const rocksync_changes_t seen{changes, not_told};
    before_apply_(state_, &seen);
  }

 private:
  void* const state_;
  const Destructor destructor_;
  const BeforeApplyFunction before_apply_;
};

// Null: there is no such change.
const rocksync::AppliedChange* Find(const rocksync_changes_t* changes,
                                    size_t i) {
  if (changes == nullptr || i >= changes->changes.size()) return nullptr;
  return &changes->changes[i];
}

const char* Give(const rocksdb::Slice* slice, size_t* size) {
  if (size != nullptr) *size = slice == nullptr ? 0 : slice->size();
  return slice == nullptr ? nullptr : slice->data();
}

}  // namespace

extern "C" {

void rocksync_options_set_apply_hook(
    rocksync_options_t* options, void* state, void (*destructor)(void* state),
    void (*before_apply)(void* state, const rocksync_changes_t* changes)) {
  if (options == nullptr) return;
  options->rep.hook =
      before_apply == nullptr
          ? nullptr
          : std::make_shared<CallbackHook>(state, destructor, before_apply);
}

size_t rocksync_changes_count(const rocksync_changes_t* changes) {
  return changes == nullptr ? 0 : changes->changes.size();
}

const char* rocksync_changes_family(const rocksync_changes_t* changes, size_t i,
                                    size_t* size) {
  const rocksync::AppliedChange* const change = Find(changes, i);
  return Give(change == nullptr ? nullptr : &change->family, size);
}

const char* rocksync_changes_key(const rocksync_changes_t* changes, size_t i,
                                 size_t* size) {
  const rocksync::AppliedChange* const change = Find(changes, i);
  return Give(change == nullptr ? nullptr : &change->key, size);
}

const char* rocksync_changes_value(const rocksync_changes_t* changes, size_t i,
                                   size_t* size) {
  const rocksync::AppliedChange* const change = Find(changes, i);
  return Give(change == nullptr || change->tombstone ? nullptr : &change->value,
              size);
}

uint64_t rocksync_changes_time_ms(const rocksync_changes_t* changes, size_t i) {
  const rocksync::AppliedChange* const change = Find(changes, i);
  return change == nullptr ? 0 : change->version.time >> 16;
}

uint64_t rocksync_changes_replica_id(const rocksync_changes_t* changes,
                                     size_t i) {
  const rocksync::AppliedChange* const change = Find(changes, i);
  return change == nullptr ? 0 : change->version.replica;
}

unsigned char rocksync_changes_replaces(const rocksync_changes_t* changes,
                                        size_t i) {
  const rocksync::AppliedChange* const change = Find(changes, i);
  return change != nullptr && change->replaces;
}

unsigned char rocksync_changes_replaced_tombstone(
    const rocksync_changes_t* changes, size_t i) {
  const rocksync::AppliedChange* const change = Find(changes, i);
  return change != nullptr && change->replaced_tombstone;
}

uint64_t rocksync_changes_replaced_time_ms(const rocksync_changes_t* changes,
                                           size_t i) {
  const rocksync::AppliedChange* const change = Find(changes, i);
  return change == nullptr ? 0 : change->replaced_version.time >> 16;
}

uint64_t rocksync_changes_replaced_replica_id(const rocksync_changes_t* changes,
                                              size_t i) {
  const rocksync::AppliedChange* const change = Find(changes, i);
  return change == nullptr ? 0 : change->replaced_version.replica;
}

uint64_t rocksync_changes_source_id(const rocksync_changes_t* changes,
                                    size_t i) {
  const bool told = changes != nullptr && i < changes->sources.size();
  return told ? changes->sources[i] : 0;
}

}  // extern "C"
