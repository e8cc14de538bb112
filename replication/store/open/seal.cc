#include "replication/store/open/seal.h"

#include "replication/store/format/current_manifest.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/write/indexed_db.h"
#include "replication/store/write/write_stall.h"
#include "rocksdb/convenience.h"

namespace rocksync {

rocksdb::Status ClosedUnsealed() {
  return rocksdb::Status::Incomplete(
      "rocksync: closed without a seal, as RocksDB stalls writes",
      "nothing is lost; the next opening reads more of the index");
}

rocksdb::Status WriteSeal(
    rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index,
    const std::vector<rocksdb::ColumnFamilyHandle*>& families, bool has_digests,
    rocksdb::WriteBatch* batch) {
  // Compactions end before the files are named: one that ended afterwards would
  // leave others, as a foreign write would, and have everything compared anew.
  rocksdb::CancelAllBackgroundWork(db, /*wait=*/true);
  SealRecord seal;
  seal.sequence = db->GetLatestSequenceNumber() + batch->Count() + 1;
  seal.has_digests = has_digests;
  seal.manifest = CurrentManifest(db->GetEnv(), db->GetName());
  seal.files = FilesOf(db, families, UINT64_MAX, &seal.last_file);
  const rocksdb::Status status =
      batch->Put(index, MetaKey(kSealRecord), Encode(seal));
  if (!status.ok()) return status;
  // No flush can end a stall any more, so the write must not wait for one.
  // RocksDB may fill a budget of memtables within this very write.
  rocksdb::WriteOptions synced;
  synced.sync = true;
  synced.no_slowdown = true;
  const rocksdb::Status written =
      WritePatiently([&] { return db->Write(synced, batch); });
  // After background work was cancelled, RocksDB reports a stall as a shutdown.
  return written.IsBusy() || written.IsShutdownInProgress() ? ClosedUnsealed()
                                                            : written;
}

}  // namespace rocksync
