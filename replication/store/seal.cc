#include "replication/store/seal.h"

#include "replication/store/current_manifest.h"
#include "replication/store/index_key.h"
#include "replication/store/meta_records.h"
#include "rocksdb/convenience.h"

namespace rocksync {

rocksdb::Status WriteSeal(
    rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index,
    const std::vector<rocksdb::ColumnFamilyHandle*>& families, bool has_digests,
    rocksdb::WriteBatch* batch) {
  // Before the files are named: a compaction that ended afterwards would leave
  // others, as somebody else's would, and have everything compared anew.
  rocksdb::CancelAllBackgroundWork(db, /*wait=*/true);
  SealRecord seal;
  seal.sequence = db->GetLatestSequenceNumber() + batch->Count() + 1;
  seal.has_digests = has_digests;
  seal.manifest = CurrentManifest(db->GetEnv(), db->GetName());
  seal.files = FilesOf(db, families, UINT64_MAX, &seal.last_file);
  const rocksdb::Status status =
      batch->Put(index, MetaKey(kSealRecord), Encode(seal));
  if (!status.ok()) return status;
  rocksdb::WriteOptions synced;
  synced.sync = true;
  return db->Write(synced, batch);
}

}  // namespace rocksync
