// A planted fault: apply takes no locks. These definitions take the place of
// those in replication/store/index/stripe_locks.cc, and the race on 64 keys in
// apply_test.cc must notice.

#include "replication/store/index/stripe_locks.h"

namespace rocksync {

bool StripeLocks::Lock(const StripeSet&, const std::function<bool()>&) {
  return true;
}
bool StripeLocks::LockPolling(const StripeSet&, const std::function<bool()>&) {
  return true;
}
bool StripeLocks::LockAll(const std::function<bool()>&) { return true; }
void StripeLocks::UnlockAll() {}

}  // namespace rocksync
