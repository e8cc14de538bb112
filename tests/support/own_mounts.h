// Mounts that only a test sees.

#ifndef ROCKSYNC_TESTS_SUPPORT_OWN_MOUNTS_H_
#define ROCKSYNC_TESTS_SUPPORT_OWN_MOUNTS_H_

#include <sched.h>
#include <sys/mount.h>

namespace rocksync {

// From now on what the calling thread mounts is seen by it alone, and ends with
// it. False: this process may mount nothing.
inline bool HasOwnMounts() {
  return unshare(CLONE_FS | CLONE_NEWNS) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_OWN_MOUNTS_H_
