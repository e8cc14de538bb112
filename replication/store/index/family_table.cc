#include "replication/store/index/family_table.h"

#include <algorithm>
#include <utility>

namespace rocksync {
namespace {

void Enter(const Family* family, std::vector<const Family*>* by_id) {
  if (family->id >= by_id->size()) by_id->resize(family->id + 1);
  (*by_id)[family->id] = family;
}

}  // namespace

FamilyTable::FamilyTable(std::vector<Family> replicated,
                         std::vector<Family> others)
    : families_(std::move(replicated)), others_(std::move(others)) {
  std::sort(families_.begin(), families_.end(),
            [](const Family& a, const Family& b) { return a.name < b.name; });
  for (uint32_t i = 0; i < families_.size(); ++i) {
    families_[i].ordinal = i;
    Enter(&families_[i], &by_id_);
  }
  for (const Family& family : others_) Enter(&family, &other_by_id_);
}

}  // namespace rocksync
