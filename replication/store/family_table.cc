#include "replication/store/family_table.h"

#include <algorithm>
#include <utility>

namespace rocksync {

FamilyTable::FamilyTable(std::vector<Family> replicated,
                         std::vector<Family> others)
    : families_(std::move(replicated)), others_(std::move(others)) {
  std::sort(families_.begin(), families_.end(),
            [](const Family& a, const Family& b) { return a.name < b.name; });
  for (uint32_t i = 0; i < families_.size(); ++i) {
    families_[i].ordinal = i;
    if (families_[i].id >= by_id_.size()) by_id_.resize(families_[i].id + 1);
    by_id_[families_[i].id] = &families_[i];
  }
}

const Family* FamilyTable::FindOther(uint32_t id) const {
  for (const Family& family : others_) {
    if (family.id == id) return &family;
  }
  return nullptr;
}

}  // namespace rocksync
