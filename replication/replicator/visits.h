// Threads that look after one accepted connection each.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_VISITS_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_VISITS_H_

#include <list>

namespace rocksync {

// Joins and removes the visits that are over. A visit has a `thread`, and sets
// `over` as the last thing in it.
template <typename Visit>
void ForgetThoseOver(std::list<Visit>* visits) {
  for (auto visit = visits->begin(); visit != visits->end();) {
    if (!visit->over) {
      ++visit;
      continue;
    }
    visit->thread.join();
    visit = visits->erase(visit);
  }
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_VISITS_H_
