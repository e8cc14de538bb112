#include "replication/store/index/family_table.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace rocksync {
namespace {

void Enter(const Family* family, std::vector<const Family*>* by_id) {
  if (family->id >= by_id->size()) by_id->resize(family->id + 1);
  (*by_id)[family->id] = family;
}

uint64_t NextTable() {
  static std::atomic<uint64_t> tables{0};
  return tables.fetch_add(1, std::memory_order_relaxed);
}

// The handles of all databases of this process. Never destroyed, as a database
// may outlive it.
struct SharedHandles {
  std::mutex mutex;
  std::multimap<rocksdb::ColumnFamilyHandle*, SharedHandle*> handles;
};
SharedHandles* AllShared() {
  static auto* const all = new SharedHandles;
  return all;
}

}  // namespace

SharedHandle::SharedHandle(rocksdb::DB* owner,
                           rocksdb::ColumnFamilyHandle* shared)
    : db(owner->GetRootDB()),
      handle(shared),
      merges(owner->GetOptions(shared).merge_operator != nullptr) {
  const std::lock_guard lock(AllShared()->mutex);
  AllShared()->handles.emplace(handle, this);
}

// Destroys the handle without the lock: RocksDB then deletes files and calls
// listeners.
SharedHandle::~SharedHandle() {
  {
    const std::lock_guard lock(AllShared()->mutex);
    auto [it, last] = AllShared()->handles.equal_range(handle);
    while (it != last) {
      it = it->second == this ? AllShared()->handles.erase(it) : std::next(it);
    }
  }
  if (given_back) db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
}

bool IsShared(rocksdb::ColumnFamilyHandle* handle) {
  const std::lock_guard lock(AllShared()->mutex);
  return AllShared()->handles.contains(handle);
}

bool GiveBack(rocksdb::DB* owner, rocksdb::ColumnFamilyHandle* handle) {
  const rocksdb::DB* const root = owner->GetRootDB();
  const std::lock_guard lock(AllShared()->mutex);
  const auto [first, last] = AllShared()->handles.equal_range(handle);
  const auto found = std::find_if(first, last, [root](const auto& entry) {
    return entry.second->db == root;
  });
  if (found == last) return false;
  found->second->given_back = true;
  return true;
}

void DestroyGivenBack(rocksdb::DB* owner) {
  rocksdb::DB* const root = owner->GetRootDB();
  std::vector<rocksdb::ColumnFamilyHandle*> all;
  {
    const std::lock_guard lock(AllShared()->mutex);
    std::erase_if(AllShared()->handles, [&](const auto& entry) {
      SharedHandle* const shared = entry.second;
      if (shared->db != root || !shared->given_back.exchange(false)) {
        return false;
      }
      all.push_back(shared->handle);
      return true;
    });
  }
  for (rocksdb::ColumnFamilyHandle* handle : all) {
    root->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
}

FamilyTable::FamilyTable(std::vector<Family> replicated,
                         std::vector<Family> others)
    : number_(NextTable()),
      families_(std::move(replicated)),
      others_(std::move(others)) {
  std::sort(families_.begin(), families_.end(),
            [](const Family& a, const Family& b) { return a.name < b.name; });
  for (uint32_t i = 0; i < families_.size(); ++i) {
    families_[i].ordinal = i;
    Enter(&families_[i], &by_id_);
  }
  for (const Family& family : others_) Enter(&family, &other_by_id_);
}

std::shared_ptr<const FamilyTable> FamilyTable::CopyReplicated() const {
  auto copy = std::make_shared<FamilyTable>(families_, std::vector<Family>());
  copy->number_ = number_;
  return copy;
}

std::shared_ptr<const FamilyTable> FamilyTable::CopyNames() const {
  std::vector<Family> named = families_;
  for (Family& family : named) family.shared = nullptr;
  auto copy =
      std::make_shared<FamilyTable>(std::move(named), std::vector<Family>());
  copy->number_ = number_;
  return copy;
}

bool FamilyTable::ReplicatesAs(const FamilyTable& other) const {
  return number_ == other.number_ ||
         std::equal(families_.begin(), families_.end(), other.families_.begin(),
                    other.families_.end(),
                    [](const Family& a, const Family& b) {
                      return a.id == b.id;  // which is never used again
                    });
}

}  // namespace rocksync
