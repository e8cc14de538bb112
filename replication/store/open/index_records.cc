#include "replication/store/open/index_records.h"

#include <memory>
#include <string_view>
#include <utility>

#include "replication/store/format/index_key.h"
#include "replication/store/format/leaf_records.h"
#include "replication/text/escape_text.h"
#include "rocksdb/write_batch.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::DB;
using rocksdb::Slice;
using rocksdb::Status;

rocksdb::Status Damaged(const std::string& record) {
  return rocksdb::Status::Corruption(
      "rocksync: the " + record + " record of the index is damaged",
      "replace this replica by an empty one, or run `rocksync detach` and "
      "adopt its data again");
}

class RecordReader {
 public:
  RecordReader(DB* db, ColumnFamilyHandle* index) : db_(db), index_(index) {}

  Status Get(std::string_view record_name, std::string* bytes) const {
    return db_->Get(rocksdb::ReadOptions(), index_, MetaKey(record_name),
                    bytes);
  }

  // Reads a record. If there is none, returns OK with `*found` false, and
  // leaves `*record` alone.
  template <typename Record>
  Status Read(std::string_view record_name, Record* record, bool* found) const {
    std::string bytes;
    const Status status = Get(record_name, &bytes);
    *found = status.ok();
    if (status.IsNotFound()) return Status::OK();
    if (!status.ok()) return status;
    if (!Decode(bytes, record)) {
      return Status::Corruption("rocksync: the index's record '" +
                                    std::string(record_name) +
                                    "' is damaged or of a newer format",
                                "open with the version that wrote it, or run "
                                "`rocksync detach` and adopt the data anew");
    }
    return status;
  }

  // Reads a record that every whole index has. NotFound: it is missing.
  template <typename Record>
  Status Need(std::string_view record_name, Record* record) const {
    bool found = false;
    const Status status = Read(record_name, record, &found);
    if (status.ok() && !found) return Status::NotFound(Slice(record_name));
    return status;
  }

 private:
  DB* const db_;
  ColumnFamilyHandle* const index_;
};

// Reads the other records. NotFound: one is missing that every opening writes.
Status ReadRest(const RecordReader& records, Opened* opened,
                ProvenanceFacts* traces, std::optional<SealRecord>* seal) {
  bool found = false;
  Status status = records.Need(kIdentityRecord, &opened->indexed.identity);
  if (status.ok()) status = records.Need(kPastRecord, &opened->indexed.past);
  if (status.ok()) status = records.Need(kPlaceRecord, &opened->place);
  if (status.ok())
    status = records.Need(kFamiliesRecord, &opened->family_records);
  if (status.ok()) status = records.Need(kGcStateRecord, &opened->gc);
  if (status.ok()) status = records.Read(kWorkRecord, &opened->work, &found);
  if (status.ok())
    status = records.Read(kForeignRecord, &opened->foreign, &found);
  if (status.ok()) {
    SealRecord sealed;
    status = records.Read(kSealRecord, &sealed, &found);
    if (found) *seal = std::move(sealed);
  }
  std::string bytes;
  if (status.ok()) status = records.Get(kMarkRecord, &bytes);
  if (status.ok() && !DecodeMark(bytes, &traces->mark)) {
    status = Damaged("mark");
  }
  if (status.ok()) status = records.Get(kLeaseRecord, &bytes);
  if (status.ok() && !DecodeLease(bytes, &opened->indexed.lease)) {
    status = Damaged("lease");
  }
  if (!status.ok()) return status;
  status = records.Get(kSweptRecord, &bytes);
  // If unknown, the index is swept once more than need be.
  if (status.ok() && !DecodeSwept(bytes, &opened->swept)) opened->swept = 0;
  return status.IsNotFound() ? Status::OK() : status;
}

}  // namespace

Status ReadIndexRecords(DB* db, ColumnFamilyHandle* index,
                        const ReplicatedDBOptions& replication,
                        const std::string& name, Opened* opened,
                        ProvenanceFacts* traces,
                        std::optional<SealRecord>* seal) {
  std::string bytes;
  Status status =
      db->Get(rocksdb::ReadOptions(), index, MetaKey(kFormatRecord), &bytes);
  if (status.IsNotFound()) return Status::OK();
  if (!status.ok()) return status;
  uint8_t format = 0;
  if (!DecodeFormat(bytes, &format) || format != kIndexFormat) {
    return Status::NotSupported(
        "rocksync: the index in " + name + " has format " +
            std::to_string(format) + ", this version knows " +
            std::to_string(kIndexFormat),
        "use a newer version of the library, or run `rocksync detach` and "
        "adopt the data anew");
  }
  ClusterRecord cluster;
  const RecordReader records(db, index);
  status = records.Need(kClusterRecord, &cluster);
  if (status.IsNotFound()) return Status::OK();
  if (!status.ok()) return status;
  if (cluster.name != replication.cluster_name) {
    return Status::InvalidArgument(
        "rocksync: " + name + " belongs to cluster '" +
            EscapeText(cluster.name) + "', not '" + replication.cluster_name +
            "'",
        "correct cluster_name (rocksync-store: --cluster), or detach the "
        "database first");
  }
  if (cluster.secret_check != SecretCheck(replication.cluster_secret)) {
    return Status::InvalidArgument(
        "rocksync: cluster_secret is not the one that " + name +
            " was indexed with",
        "correct it, or detach the database first");
  }
  status = ReadRest(records, opened, traces, seal);
  traces->index_complete = status.ok();
  return status.IsNotFound() ? Status::OK() : status;
}

Status WriteIndexRecords(DB* db, ColumnFamilyHandle* index,
                         const ReplicatedDBOptions& replication,
                         const Opened& opened) {
  rocksdb::WriteBatch batch;
  Status status = batch.Put(index, MetaKey(kFormatRecord), EncodeFormat());
  const auto put = [&](const std::string& key, const std::string& value) {
    if (status.ok()) status = batch.Put(index, key, value);
  };
  put(MetaKey(kClusterRecord),
      Encode(ClusterRecord{replication.cluster_name,
                           SecretCheck(replication.cluster_secret)}));
  put(MetaKey(kIdentityRecord), Encode(opened.indexed.identity));
  put(MetaKey(kPastRecord), Encode(opened.indexed.past));
  put(MetaKey(kPlaceRecord), Encode(opened.place));
  put(MetaKey(kFamiliesRecord), Encode(opened.family_records));
  put(MetaKey(kWorkRecord), Encode(opened.work));
  put(MetaKey(kGcStateRecord), Encode(opened.gc));
  put(MetaKey(kLeaseRecord), EncodeLease(opened.indexed.lease));
  put(MetaKey(kMarkRecord), EncodeMark(opened.marker.marks.back()));
  if (!opened.foreign.empty()) {
    put(MetaKey(kForeignRecord), Encode(opened.foreign));
  }
  if (status.ok()) status = batch.Delete(index, MetaKey(kSealRecord));
  rocksdb::WriteOptions synced;
  synced.sync = true;
  if (status.ok()) status = db->Write(synced, &batch);
  return status;
}

void ReadSealedDigests(DB* db, ColumnFamilyHandle* index, Opened* opened) {
  auto leaves = std::make_unique<LeafDigests::Leaves>(kLeafCount);
  LeafDigests::Tombstones tombstones(kLeafCount);
  constexpr size_t kPerChunk = kLeafCount / kDigestChunks;
  for (uint32_t chunk = 0; chunk < kDigestChunks; ++chunk) {
    std::string bytes;
    const Status status =
        db->Get(rocksdb::ReadOptions(), index, DigestKey(chunk), &bytes);
    if (!status.ok() ||
        !DecodeDigests(bytes, &(*leaves)[chunk * kPerChunk], kPerChunk)) {
      return;
    }
    const Status counted =
        db->Get(rocksdb::ReadOptions(), index, TombstonesKey(chunk), &bytes);
    if (!counted.ok() ||
        !DecodeTombstones(bytes, &tombstones[chunk * kPerChunk], kPerChunk)) {
      return;
    }
  }
  LeafQuarantined quarantined;
  std::string bytes;
  const Status status = db->Get(rocksdb::ReadOptions(), index,
                                MetaKey(kQuarantinedRecord), &bytes);
  if (!status.ok() || !DecodeQuarantined(bytes, kLeafCount, &quarantined)) {
    return;
  }
  opened->leaves = std::move(leaves);
  opened->tombstones = std::move(tombstones);
  opened->quarantined = std::move(quarantined);
}

}  // namespace rocksync
