#include "replication/store/store_access.h"

#include <algorithm>
#include <utility>

#include "replication/store/open/opening.h"
#include "replication/store/store.h"
#include "replication/store/upkeep/membership.h"
#include "replication/store/upkeep/scrub.h"
#include "rocksdb/comparator.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

std::unique_ptr<Scrub> StoreAccess::NewScrub(ReplicatedDB* db) {
  Store* const store = db->store_.get();
  return std::make_unique<Scrub>(store->indexed(), store->quarantine(),
                                 store->index_build());
}

IndexedDB* StoreAccess::IndexedOf(ReplicatedDB* db) {
  return db->store_->indexed();
}

ChangeBuffer* StoreAccess::ChangesOf(ReplicatedDB* db) {
  return db->store_->indexed()->changes();
}

std::shared_ptr<ReplicatorClaim> StoreAccess::ClaimOf(ReplicatedDB* db) {
  return db->store_->claim();
}

Membership* StoreAccess::MembershipOf(const ReplicatedDB* db) {
  return db->store_->membership();
}

PeerMemory* StoreAccess::PeersOf(const ReplicatedDB* db) {
  return db->store_->peers();
}

std::vector<StoreAccess::FamilyFacts> StoreAccess::Families(
    const ReplicatedDB* db) {
  std::vector<FamilyFacts> facts;
  const FamiliesInUse now = db->store_->indexed()->families();
  for (const Family& family : now->families()) {
    facts.push_back({family.name, family.handle()->GetComparator()->Name()});
  }
  return facts;
}

Incarnation StoreAccess::IncarnationOf(const ReplicatedDB* db) {
  return db->store_->indexed()->incarnation();
}

rocksdb::Status StoreAccess::Open(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name,
    const std::vector<ColumnFamilyDescriptor>& column_families,
    std::vector<ColumnFamilyHandle*>* handles, Timers timers, ReplicatedDB** db,
    const Predecessor* predecessor) {
  *db = nullptr;
  handles->clear();
  // The index is opened with the library's own options.
  const auto index = std::find_if(
      column_families.begin(), column_families.end(),
      [](const auto& family) { return family.name == kIndexFamilyName; });
  std::vector<ColumnFamilyDescriptor> families(column_families.begin(), index);
  if (index != column_families.end()) {
    families.insert(families.end(), index + 1, column_families.end());
  }
  Opened opened;
  const Status status = OpenIndexed(options, replication, name, families,
                                    predecessor, handles, &opened);
  if (!status.ok()) return status;
  if (index != column_families.end()) {
    handles->insert(handles->begin() + (index - column_families.begin()),
                    nullptr);
  }
  rocksdb::DB* const base = opened.indexed.db;
  *db = new ReplicatedDB(
      base, std::make_unique<Store>(replication, std::move(opened)));
  (*db)->store_->Start(timers);
  return status;
}

}  // namespace rocksync
