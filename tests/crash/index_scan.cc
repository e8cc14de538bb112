#include "tests/crash/index_scan.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "replication/base/rocksdb_version.h"
#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "tests/crash/replica.h"

namespace rocksync::crash {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

constexpr size_t kMaxScanComplaints = 5;
constexpr uint64_t kMaxLeadMs = 1500;

std::string_view View(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

class Scanner {
 public:
  Scanner(const std::string& directory, const ClusterSecret& secret,
          uint64_t max_lead_ms)
      : directory_(directory), hasher_(secret), max_lead_ms_(max_lead_ms) {}
  ~Scanner() {
    for (ColumnFamilyHandle* handle : handles_) {
      db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
  }

  DatabaseScan Run() {
    if (!Open() || !ReadPairs()) return std::move(scan_);
    if (scan_.has_index && ReadRecords() && ReadEntries()) {
      for (const auto& [key, entry] : expected_) {
        Complain(entry + " has no entry in the index");
      }
    }
    return std::move(scan_);
  }

 private:
  void Complain(const std::string& what) {
    if (scan_.wrong.size() < kMaxScanComplaints) scan_.wrong.push_back(what);
  }
  bool Check(const Status& status, const std::string& what) {
    if (!status.ok()) Complain(what + ": " + status.ToString());
    return status.ok();
  }

  bool Open() {
    rocksdb::DBOptions options;
    // RocksDB that was built with assertions ends the process if the database
    // tracked its logs and a read-only open does not; a set of none passes.
    options.track_and_verify_wals_in_manifest = true;
    std::vector<std::string> names;
    if (!Check(rocksdb::DB::ListColumnFamilies(options, directory_, &names),
               "list families")) {
      return false;
    }
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : names) families.push_back({name, {}});
    const Status status =
        OpenPlainForReadOnly(options, directory_, families, &handles_, &db_);
    if (!Check(status, "open")) return false;
    for (ColumnFamilyHandle* handle : handles_) {
      if (handle->GetName() == kIndexFamilyName) index_ = handle;
    }
    scan_.has_index = index_ != nullptr;
    return true;
  }

  bool ReadPairs() {
    for (ColumnFamilyHandle* handle : handles_) {
      if (handle == index_) continue;
      const std::unique_ptr<rocksdb::Iterator> it(
          db_->NewIterator(rocksdb::ReadOptions(), handle));
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
        const std::string key = it->key().ToString();
        scan_.contents[{handle->GetName(), key}] = it->value().ToString();
        expected_[{handle->GetID(), key}] = handle->GetName() + "/" + key;
      }
      if (!Check(it->status(), "read " + handle->GetName())) return false;
    }
    return true;
  }

  bool Record(std::string_view name, std::string* bytes) {
    const Status status =
        db_->Get(rocksdb::ReadOptions(), index_, MetaKey(name), bytes);
    if (status.IsNotFound()) bytes->clear();
    return Check(status.IsNotFound() ? Status::OK() : status,
                 "record " + std::string(name));
  }

  bool ReadRecords() {
    std::string identity, families, work, lease, gc;
    if (!Record(kIdentityRecord, &identity) ||
        !Record(kFamiliesRecord, &families) || !Record(kWorkRecord, &work) ||
        !Record(kLeaseRecord, &lease) || !Record(kGcStateRecord, &gc)) {
      return false;
    }
    // A kill in the very first opening.
    if (identity.empty()) {
      scan_.being_read = true;
      return false;
    }
    std::vector<FamilyRecord> records;
    IdentityRecord who;
    WorkRecord left;
    if (!Decode(identity, &who) || !Decode(families, &records) ||
        (!work.empty() && !Decode(work, &left)) ||
        (!lease.empty() && !DecodeLease(lease, &scan_.lease)) ||
        (!gc.empty() && !Decode(gc, &scan_.gc))) {
      Complain("a damaged record");
      return false;
    }
    home_ = who.home_id;
    scan_.replica_id = who.replica_id;
    scan_.incarnation = who.incarnation;
    CheckLease();
    scan_.being_read = left.purge || left.index_pass;
    for (const FamilyRecord& record : records) {
      names_[record.id] = record.name;
      scan_.being_read = scan_.being_read || record.work != 0;
    }
    return true;
  }

  // After a crash the clock starts from the lease. However many crashes in a
  // row, it must not get so far ahead that peers hold its versions back.
  void CheckLease() {
    const uint64_t now_ms = rocksdb::Env::Default()->NowMicros() / 1000;
    if ((scan_.lease >> 16) > now_ms + max_lead_ms_) {
      Complain("the lease is " + std::to_string((scan_.lease >> 16) - now_ms) +
               " ms ahead of the clock on the wall");
    }
  }

  bool ReadEntries() {
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    const std::unique_ptr<rocksdb::Iterator> it(
        db_->NewIterator(options, index_));
    std::string first;
    AppendPosition(&first, 1);
    for (it->Seek(first); it->Valid(); it->Next()) {
      IndexKey key;
      StoredEntry entry;
      if (!ParseIndexKey(View(it->key()), &key) ||
          !ParseEntry(View(it->value()), home_, &entry)) {
        Complain("a damaged entry");
        continue;
      }
      CompareEntry(key, entry);
    }
    if (scan_.being_read) expected_.clear();
    return Check(it->status(), "read the index");
  }

  void CompareEntry(const IndexKey& key, const StoredEntry& entry) {
    const auto family = names_.find(key.family_id);
    if (family == names_.end()) {
      if (!scan_.being_read) Complain("an entry of an unknown family");
      return;
    }
    const std::string pair = family->second + "/" + std::string(key.key);
    if (key.position != hasher_.Position(family->second, key.key)) {
      return Complain(pair + ": the entry stands at a wrong position");
    }
    if (entry.quarantined) return Complain(pair + ": the entry is quarantined");
    scan_.versions[{family->second, std::string(key.key)}] = entry.version;
    if (entry.version.time > scan_.lease) {
      Complain(pair + ": its version is later than the lease");
    }
    const ElementHash stored =
        CompleteHash(hasher_, family->second, key.key, entry);
    scan_.digest.Add(stored);
    const bool there =
        expected_.erase({key.family_id, std::string(key.key)}) > 0;
    if (entry.tombstone) {
      ++scan_.tombstones;
      if (there) Complain(pair + ": a tombstone in the index, a pair in data");
      return;
    }
    scan_.live.Add(stored);
    if (!there) return Complain(pair + ": an entry without a pair");
    const std::string& value =
        scan_.contents[{family->second, std::string(key.key)}];
    if (stored != hasher_.HashPair(family->second, key.key, entry.version,
                                   hasher_.HashValue(entry.version, value))) {
      Complain(pair + ": the entry's hash is not that of the pair");
    }
  }

  const std::string directory_;
  const ElementHasher hasher_;
  const uint64_t max_lead_ms_;
  DatabaseScan scan_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<ColumnFamilyHandle*> handles_;
  ColumnFamilyHandle* index_ = nullptr;
  uint64_t home_ = 0;
  std::map<uint32_t, std::string> names_;
  // Pairs that no entry has been met of: family and key to a readable name.
  std::map<std::pair<uint32_t, std::string>, std::string> expected_;
};

}  // namespace

DatabaseScan ScanDatabase(const std::string& directory,
                          const ClusterSecret& secret, uint64_t max_lead_ms) {
  return Scanner(directory, secret, max_lead_ms).Run();
}

Scan ScanReplica(const std::string& directory) {
  Scan scan{
      ScanDatabase(directory, ReplicationOptions().cluster_secret, kMaxLeadMs),
      {}};
  for (const auto& [name, value] : scan.contents) {
    const std::optional<uint32_t> key = ParseKeyName(name.second);
    if (key && kFamilyNames[FamilyOf(*key)] == name.first) {
      scan.pairs[*key] = value;
    } else {
      scan.wrong.push_back("a strange key: " + name.second);
    }
  }
  return scan;
}

}  // namespace rocksync::crash
