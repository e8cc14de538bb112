// Joins the threads that serve accepted connections, one connection each.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_CONNECTION_THREADS_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_CONNECTION_THREADS_H_

#include <list>

namespace rocksync {

// Joins and removes the threads that have ended. `Thread` has a member
// `thread`, which sets `over` as its last action.
template <typename Thread>
void JoinThoseOver(std::list<Thread>* threads) {
  for (auto one = threads->begin(); one != threads->end();) {
    if (!one->over) {
      ++one;
      continue;
    }
    one->thread.join();
    one = threads->erase(one);
  }
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_CONNECTION_THREADS_H_
