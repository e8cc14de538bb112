#include "replication/store/write/last_changes.h"

#include <algorithm>

namespace rocksync {

void LastChanges::Add(uint64_t position, const Change& change) {
  order_.emplace_back(position, changes_.size());
  changes_.push_back(change);
}

std::vector<Change> LastChanges::Take() {
  std::sort(order_.begin(), order_.end());
  std::vector<Change> last;
  last.reserve(changes_.size());
  for (size_t i = 0; i < order_.size(); ++i) {
    if (!ChangedAgain(i)) last.push_back(changes_[order_[i].second]);
  }
  return last;
}

// Changes of one key have one position, and are in the order of the batch.
bool LastChanges::ChangedAgain(size_t i) const {
  const Change& change = changes_[order_[i].second];
  for (size_t j = i + 1; j < order_.size(); ++j) {
    if (order_[j].first != order_[i].first) return false;
    const Change& later = changes_[order_[j].second];
    if (later.family_id == change.family_id && later.key == change.key) {
      return true;
    }
  }
  return false;
}

}  // namespace rocksync
