// The database as the library writes to it. It counts the sequence numbers of
// all these writes, so that one it did not count shows a foreign write. It
// writes nothing to a log that failed, nor in a child of fork, however the call
// came here.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_COUNTED_DB_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_COUNTED_DB_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "replication/store/write/log_watch.h"
#include "rocksdb/db.h"
#include "rocksdb/utilities/stackable_db.h"

namespace rocksync {

// Counts sequence numbers. RocksDB gives one to each operation of a write that
// succeeds. So its latest one is `base`, where the counting began, plus the
// numbers of writes through this class, plus those of foreign writes.
//
// Writers add to two counters of their thread, before and after the write.
// While no write is under way the two agree, and the sum is exact. To have that
// moment while others write, CountForeign holds new writes up until those under
// way are done. A write that is held up holds no lock for which one under way
// could wait: counting is the innermost step.
//
// Invariant: the numbers of a write are counted when it returns. A write that
// fails counts nothing. If RocksDB used numbers for it all the same, they look
// foreign, and the price is a re-check.
//
// Thread-safe.
class CountedDB final : public rocksdb::StackableDB {
 public:
  // `db` must outlive this. `log` is a listener of `db`.
  CountedDB(rocksdb::DB* db, std::shared_ptr<const LogWatch> log);

  // Returns OK if the log can be written, and by this process; else the error
  // with which writes and syncs end.
  rocksdb::Status LogStatus() const;
  rocksdb::Status WritesStopped() const { return log_->writes_stopped(); }

  // Counts the sequence numbers of foreign writes. Writers wait only if some
  // write is under way at this moment. Returns false if the number is not
  // known: because `cancelled` returned true first, a write under way is
  // stalled, or files are being ingested and their numbers are not known yet.
  bool CountForeign(const std::function<bool()>& cancelled, uint64_t* foreign);
  // Counts these foreign writes no more: they are dealt with.
  void Accept(uint64_t foreign) { base_.fetch_add(foreign); }

  // Runs `work`, which takes sequence numbers in its own way (an import), while
  // no other write goes on, and counts all of them. Holds all writers up, but
  // not while it waits for a write that is stalled.
  rocksdb::Status Alone(const std::function<rocksdb::Status()>& work);

  // Runs a write that takes `numbers`, by a call of RocksDB that this class
  // does not override. Like all writes with no_slowdown, it returns Incomplete
  // if writes are held up for long.
  rocksdb::Status Count(const rocksdb::WriteOptions& options, uint64_t numbers,
                        const std::function<rocksdb::Status()>& write);
  // Runs an ingestion of files; FileWatch tells how many numbers they take.
  rocksdb::Status Ingest(const std::function<rocksdb::Status()>& ingestion);

  // Counts the numbers that ingested files have taken (FileWatch tells).
  void Ingested(uint64_t numbers) { base_.fetch_add(numbers); }

  // Returns how many snapshots are held that were not taken through this
  // object; the library takes its own through it.
  uint64_t CountForeignSnapshots() const;
  const rocksdb::Snapshot* GetSnapshot() override;
  void ReleaseSnapshot(const rocksdb::Snapshot* snapshot) override;

  using StackableDB::Put;
  rocksdb::Status Put(const rocksdb::WriteOptions& options,
                      rocksdb::ColumnFamilyHandle* family,
                      const rocksdb::Slice& key,
                      const rocksdb::Slice& value) override;
  rocksdb::Status Put(const rocksdb::WriteOptions& options,
                      rocksdb::ColumnFamilyHandle* family,
                      const rocksdb::Slice& key, const rocksdb::Slice& ts,
                      const rocksdb::Slice& value) override;
  using StackableDB::PutEntity;
  rocksdb::Status PutEntity(const rocksdb::WriteOptions& options,
                            rocksdb::ColumnFamilyHandle* family,
                            const rocksdb::Slice& key,
                            const rocksdb::WideColumns& columns) override;
  using StackableDB::Delete;
  rocksdb::Status Delete(const rocksdb::WriteOptions& options,
                         rocksdb::ColumnFamilyHandle* family,
                         const rocksdb::Slice& key) override;
  rocksdb::Status Delete(const rocksdb::WriteOptions& options,
                         rocksdb::ColumnFamilyHandle* family,
                         const rocksdb::Slice& key,
                         const rocksdb::Slice& ts) override;
  using StackableDB::SingleDelete;
  rocksdb::Status SingleDelete(const rocksdb::WriteOptions& options,
                               rocksdb::ColumnFamilyHandle* family,
                               const rocksdb::Slice& key) override;
  rocksdb::Status SingleDelete(const rocksdb::WriteOptions& options,
                               rocksdb::ColumnFamilyHandle* family,
                               const rocksdb::Slice& key,
                               const rocksdb::Slice& ts) override;
  using StackableDB::DeleteRange;
  rocksdb::Status DeleteRange(const rocksdb::WriteOptions& options,
                              rocksdb::ColumnFamilyHandle* family,
                              const rocksdb::Slice& begin_key,
                              const rocksdb::Slice& end_key) override;
  using StackableDB::Merge;
  rocksdb::Status Merge(const rocksdb::WriteOptions& options,
                        rocksdb::ColumnFamilyHandle* family,
                        const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override;
  rocksdb::Status Write(const rocksdb::WriteOptions& options,
                        rocksdb::WriteBatch* batch) override;
  // The calls by which the library and the application sync the log.
  rocksdb::Status FlushWAL(bool sync) override;
  rocksdb::Status SyncWAL() override;
  using StackableDB::IngestExternalFile;
  rocksdb::Status IngestExternalFile(
      rocksdb::ColumnFamilyHandle* family,
      const std::vector<std::string>& files,
      const rocksdb::IngestExternalFileOptions& options) override;
  using StackableDB::IngestExternalFiles;
  rocksdb::Status IngestExternalFiles(
      const std::vector<rocksdb::IngestExternalFileArg>& args) override;

 private:
  // The counters of a thread, on a cache line of their own, so that writers do
  // not contend.
  struct alignas(64) Cell {
    std::atomic<uint64_t> begun{0};
    std::atomic<uint64_t> done{0};
  };
  static constexpr size_t kCells = 64;

  Cell* MyCell();
  // Returns false if the write has no_slowdown and has waited long enough.
  bool WaitForGate(const rocksdb::WriteOptions& options) const;
  template <typename Operation>
  rocksdb::Status Counted(const rocksdb::WriteOptions& options,
                          uint64_t numbers, const Operation& operation);
  uint64_t Begun() const;
  uint64_t Done() const;
  // Waits until no write is under way. Returns false if `cancelled` returned
  // true first, or RocksDB stalls a write: the flush that ends the stall may
  // wait for a write of a listener.
  // REQUIRES: the gate is closed.
  bool Drain(const std::function<bool()>& cancelled) const;
  void OpenGate();

  const std::shared_ptr<const LogWatch> log_;
  std::atomic<uint64_t> base_;
  std::mutex counting_;            // held while the gate is closed
  std::atomic<uint32_t> gate_{0};  // 1: closed
  std::atomic<uint64_t> ingestions_begun_{0};
  std::atomic<uint64_t> ingestions_done_{0};
  // Held while RocksDB's number of snapshots and ours change, or are compared:
  // in between, one of ours would look foreign.
  mutable std::mutex snapshots_;
  uint64_t snapshots_held_ = 0;
  std::array<Cell, kCells> cells_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_COUNTED_DB_H_
