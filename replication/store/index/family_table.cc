#include "replication/store/index/family_table.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

namespace rocksync {
namespace {

void Enter(const Family* family, std::vector<const Family*>* by_id) {
  if (family->id >= by_id->size()) by_id->resize(family->id + 1);
  (*by_id)[family->id] = family;
}

// Of all databases of this process. Never destroyed: a database may outlive it.
struct SharedHandles {
  std::mutex mutex;
  std::multiset<rocksdb::ColumnFamilyHandle*> handles;
};
SharedHandles* AllShared() {
  static auto* const all = new SharedHandles;
  return all;
}

}  // namespace

SharedHandle::SharedHandle(rocksdb::DB* owner,
                           rocksdb::ColumnFamilyHandle* shared)
    : db(owner),
      handle(shared),
      merges(owner->GetOptions(shared).merge_operator != nullptr) {
  const std::lock_guard lock(AllShared()->mutex);
  AllShared()->handles.insert(handle);
}

SharedHandle::~SharedHandle() {
  {
    const std::lock_guard lock(AllShared()->mutex);
    AllShared()->handles.erase(AllShared()->handles.find(handle));
  }
  if (given_back) db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
}

bool IsShared(rocksdb::ColumnFamilyHandle* handle) {
  const std::lock_guard lock(AllShared()->mutex);
  return AllShared()->handles.contains(handle);
}

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

bool FamilyTable::ReplicatesAs(const FamilyTable& other) const {
  return std::equal(families_.begin(), families_.end(), other.families_.begin(),
                    other.families_.end(),
                    [](const Family& a, const Family& b) {
                      return a.id == b.id;  // which is never used again
                    });
}

}  // namespace rocksync
