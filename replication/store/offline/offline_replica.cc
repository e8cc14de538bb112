#include "replication/store/offline/offline_replica.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "replication/base/status.h"
#include "replication/store/format/current_manifest.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/marker.h"
#include "replication/store/index/index_snapshot.h"
#include "replication/store/open/closed_writes.h"
#include "replication/store/open/provenance.h"
#include "replication/text/escape_text.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

template <typename Record>
Status Read(rocksdb::DB* db, ColumnFamilyHandle* index, std::string_view name,
            Record* record, bool* found) {
  std::string bytes;
  const Status status =
      db->Get(rocksdb::ReadOptions(), index, MetaKey(name), &bytes);
  *found = status.ok();
  if (status.IsNotFound()) return Status::OK();
  if (status.ok() && !Decode(bytes, record)) {
    return Status::Corruption("rocksync: the index's record '" +
                              std::string(name) +
                              "' is damaged or of a newer format");
  }
  return status;
}

class OfflineView final : public StorageView {
 public:
  OfflineView(const IndexReader& reader,
              std::shared_ptr<const FamilyTable> families)
      : reader_(reader), families_(std::move(families)) {}

  absl::StatusOr<std::unique_ptr<StorageSnapshot>> TakeSnapshot(
      const std::function<bool()>& cancelled) override {
    auto leaves = std::make_shared<LeafDigests::Leaves>(kLeafCount);
    LeafDigests::DigestSnapshot readied;
    IndexCursor cursor(reader_, nullptr, reader_.stable_time(),
                       IndexCursor::Order::kTotal);
    uint64_t read = 0;
    for (cursor.SeekToFirstEntry(); cursor.Valid(); cursor.Next()) {
      if (++read % 4096 == 0 && cancelled && cancelled()) {
        return absl::CancelledError("stopped while reading the index");
      }
      if (cursor.Counts()) {
        (*leaves)[LeafOf(cursor.key().position)].Add(cursor.Hash());
      } else if (cursor.IsHeld()) {
        ++readied.quarantined;
      }
    }
    if (!cursor.status().ok()) return ToAbsl(cursor.status());
    readied.leaves = std::move(leaves);
    return NewIndexSnapshot(reader_, families_, std::move(readied), {}, {}, {},
                            {});
  }

  absl::Status Apply(std::span<const Pair>, const std::function<bool()>&,
                     std::vector<ApplyOutcome>*) override {
    return absl::FailedPreconditionError("an offline database takes no pairs");
  }
  uint32_t FamilyCount() const override {
    return static_cast<uint32_t>(families_->families().size());
  }
  bool RejectIfTooFarAhead(const Version&) const override { return false; }
  uint64_t PositionOf(uint32_t family, std::string_view key) const override {
    return reader_.hasher().Position(families_->families()[family].name, key);
  }
  ElementHash HashOf(const Pair& pair) const override {
    const std::string& family = families_->families()[pair.family].name;
    return pair.tombstone
               ? reader_.hasher().HashTombstone(family, pair.key, pair.version)
               : reader_.hasher().HashPair(
                     family, pair.key, pair.version,
                     reader_.hasher().HashValue(pair.version, pair.value));
  }
  absl::Status Sync() override { return absl::OkStatus(); }

 private:
  const IndexReader& reader_;
  const std::shared_ptr<const FamilyTable> families_;
};

// Returns InvalidArgument if an offline database may have foreign writes. Where
// the log holds records, a kill and then another program's opening count as
// such: an opening by its own program tells more.
Status CheckNoForeignWrites(rocksdb::DB* db, const OfflineReplica& replica) {
  std::vector<ColumnFamilyHandle*> families;
  std::vector<FamilyRecord> records;
  for (const Family& family : replica.families()) {
    families.push_back(family.handle());
    FamilyRecord record;
    record.id = family.id;
    records.push_back(std::move(record));
  }
  SealRecord seal;
  bool sealed = false;
  Status status =
      Read(db, replica.reader().index(), kSealRecord, &seal, &sealed);
  if (!status.ok()) return status;
  std::vector<ForeignRange> ranges;
  ClosedWrites found;
  const ReplicatedDBOptions all;
  status =
      ClosedWritesSearch(db, all, families, records)
          .Find(sealed ? std::optional<SealRecord>(seal) : std::nullopt,
                replica.identity().manifest,
                CurrentManifest(db->GetEnv(), db->GetName()), &ranges, &found);
  if (!status.ok() || !found.any) return status;
  return Status::InvalidArgument(
      "rocksync: the database " + db->GetName() +
          (sealed ? " was written to since its last clean close, and its index "
                    "was not compared with it since"
                  : " was not closed cleanly, and another program may have "
                    "written to it since"),
      "open it once with its program");
}

}  // namespace

Status OfflineReplica::Open(rocksdb::DB* db,
                            const std::vector<ColumnFamilyHandle*>& handles,
                            const std::string& cluster,
                            const ClusterSecret& secret,
                            std::unique_ptr<OfflineReplica>* replica) {
  std::unique_ptr<OfflineReplica> opened;
  Status status = OpenToWrite(db, handles, cluster, secret, &opened);
  if (status.ok()) status = CheckNoForeignWrites(db, *opened);
  if (status.ok()) *replica = std::move(opened);
  return status;
}

Status OfflineReplica::OpenToWrite(
    rocksdb::DB* db, const std::vector<ColumnFamilyHandle*>& handles,
    const std::string& cluster, const ClusterSecret& secret,
    std::unique_ptr<OfflineReplica>* replica) {
  const auto index = std::find_if(
      handles.begin(), handles.end(), [](ColumnFamilyHandle* handle) {
        return handle->GetName() == kIndexFamilyName;
      });
  if (index == handles.end()) {
    Marker marker;
    return ReadMarker(db->GetEnv(), db->GetName(), &marker).IsNotFound()
               ? Status::InvalidArgument(
                     "rocksync: " + db->GetName() + " is a plain database",
                     "it has no index to compare by")
               : Refusal(Provenance::kIndexLost, db->GetName());
  }
  std::unique_ptr<OfflineReplica> opened(new OfflineReplica);
  Records records;
  Status status = opened->ReadRecords(db, *index, &records);
  if (status.ok()) {
    status = CheckRecords(db->GetName(), records, cluster, secret);
  }
  if (!status.ok()) return status;
  std::vector<Family> families;
  for (ColumnFamilyHandle* handle : handles) {
    const bool replicated = std::any_of(
        records.families.begin(), records.families.end(),
        [&](const FamilyRecord& r) { return r.id == handle->GetID(); });
    if (!replicated) continue;
    Family family;
    family.id = handle->GetID();
    family.name = handle->GetName();
    family.shared = std::make_shared<SharedHandle>(db, handle);
    families.push_back(std::move(family));
  }
  opened->families_ =
      std::make_shared<const FamilyTable>(families, std::vector<Family>());
  opened->hasher_ = std::make_unique<const ElementHasher>(secret);
  opened->reader_ = std::make_unique<IndexReader>(
      db, *index, opened->hasher_.get(), opened->identity_.home_id);
  opened->reader_->shown()->Show(
      std::make_unique<const FamilyTable>(families, std::vector<Family>()));
  opened->reader_->SetStableTime(opened->gc_.stable_time);
  *replica = std::move(opened);
  return status;
}

Status OfflineReplica::ReadRecords(rocksdb::DB* db, ColumnFamilyHandle* index,
                                   Records* records) {
  bool has_cluster = false;
  bool has_identity = false;
  bool has_families = false;
  bool has_work = false;
  bool has_gc = false;
  Status status =
      Read(db, index, kClusterRecord, &records->cluster, &has_cluster);
  if (status.ok()) {
    status = Read(db, index, kIdentityRecord, &identity_, &has_identity);
  }
  if (status.ok()) {
    status =
        Read(db, index, kFamiliesRecord, &records->families, &has_families);
  }
  if (status.ok()) {
    status = Read(db, index, kWorkRecord, &records->work, &has_work);
  }
  if (status.ok()) {
    status = Read(db, index, kGcStateRecord, &gc_, &has_gc);
  }
  if (!status.ok()) return status;
  if (!has_cluster || !has_identity || !has_families) {
    return Status::Corruption(
        "rocksync: the index of " + db->GetName() + " lacks its records",
        "a part of it is lost; open it once with its program, which says "
        "what can be done (ReplicatedDB::Open)");
  }
  return ReadMarkAndLease(db, index);
}

Status OfflineReplica::CheckRecords(const std::string& name,
                                    const Records& records,
                                    const std::string& cluster_name,
                                    const ClusterSecret& secret) {
  const ClusterRecord& cluster = records.cluster;
  if (cluster.name != cluster_name) {
    return Status::InvalidArgument(
        "rocksync: " + name + " belongs to cluster '" +
            EscapeText(cluster.name) + "', not '" + cluster_name + "'",
        "name the one that it belongs to "
        "(--cluster)");
  }
  if (cluster.secret_check != SecretCheck(secret)) {
    return Status::InvalidArgument(
        "rocksync: the cluster's secret is not the one that " + name +
            " was indexed with",
        "name the file of that one (--secret-file)");
  }
  const bool unread =
      records.work.purge || records.work.index_pass ||
      std::any_of(records.families.begin(), records.families.end(),
                  [](const FamilyRecord& record) { return record.work != 0; });
  if (unread) {
    return Status::InvalidArgument(
        "rocksync: the database " + name +
            " is not compared with its index to the end (the index build is "
            "not done)",
        "let its program open it until that is done");
  }
  return Status::OK();
}

Status OfflineReplica::ReadMarkAndLease(rocksdb::DB* db,
                                        ColumnFamilyHandle* index) {
  std::string bytes;
  Status status =
      db->Get(rocksdb::ReadOptions(), index, MetaKey(kMarkRecord), &bytes);
  if (!status.ok() && !status.IsNotFound()) return status;
  if (status.ok() && !DecodeMark(bytes, &mark_)) {
    return Status::Corruption(
        "rocksync: the mark record of the index is damaged",
        "replace this replica by an empty one, or run `rocksync detach` and "
        "adopt its data again");
  }
  status =
      db->Get(rocksdb::ReadOptions(), index, MetaKey(kLeaseRecord), &bytes);
  if (status.IsNotFound()) return Status::OK();
  if (status.ok() && !DecodeLease(bytes, &lease_)) {
    return Status::Corruption(
        "rocksync: the lease record of the index is damaged",
        "replace this replica by an empty one, or run `rocksync detach` and "
        "adopt its data again");
  }
  return status;
}

std::unique_ptr<StorageView> OfflineReplica::NewView() const {
  return std::make_unique<OfflineView>(*reader_, families_);
}

std::vector<std::string> OfflineReplica::family_names() const {
  std::vector<std::string> names;
  for (const Family& family : families()) names.push_back(family.name);
  return names;
}

}  // namespace rocksync
