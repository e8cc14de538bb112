// The database as the library writes to it: every sequence number that such a
// write takes is counted, so that one which nobody here took shows that
// there was a foreign write. And nothing is written to a log that failed, nor
// in a child of fork, by whatever way the call came here.

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

// RocksDB gives one sequence number to each operation of a write that succeeds.
// So its latest one is `base`, where the counting began, plus what the writes
// through this class took, plus those of foreign writes.
//
// Writers add to two counters of their thread, before and after the write. As
// long as no write is under way the two agree, and the sum is exact; to have
// that moment while others write, CountForeign holds new writes up until those
// under way are done. A write that is held up holds no lock which one under way
// could wait for: the counting is the innermost step.
//
// Invariant: what a write has taken is counted when the write returns. One that
// fails counts nothing; if RocksDB used numbers up for it nevertheless, they
// look foreign, and the price is a re-check.
//
// Thread-safe.
class CountedDB final : public rocksdb::StackableDB {
 public:
  // `db` must outlive this. `log` is a listener of `db`.
  CountedDB(rocksdb::DB* db, std::shared_ptr<const LogWatch> log);

  // Whether the log can be written, and by this process; if not, writes and
  // syncs end with this.
  rocksdb::Status LogStatus() const;
  rocksdb::Status WritesStopped() const { return log_->writes_stopped(); }

  // How many sequence numbers foreign writes took. Writers wait only if some
  // write is under way just now. False: not known, since `cancelled` said so
  // first, since one that is under way sits in a stall, or since files are
  // being ingested and their numbers are not told yet.
  bool CountForeign(const std::function<bool()>& cancelled, uint64_t* foreign);
  // They are dealt with: they count no more.
  void Accept(uint64_t foreign) { base_.fetch_add(foreign); }

  // Runs what takes sequence numbers in a way of its own (an import), while
  // no other write goes on, and counts them all. Holds all writers up, but not
  // while it waits for one that sits in a stall.
  rocksdb::Status Alone(const std::function<rocksdb::Status()>& work);

  // Runs a write that takes `numbers`, by a call of RocksDB's that this class
  // does not override. Incomplete, as of all writes with no_slowdown: others
  // are held up for long.
  rocksdb::Status Count(const rocksdb::WriteOptions& options, uint64_t numbers,
                        const std::function<rocksdb::Status()>& write);
  // Runs what ingests files; how many numbers they take, FileWatch tells.
  rocksdb::Status Ingest(const std::function<rocksdb::Status()>& ingestion);

  // Files that were ingested have taken numbers (FileWatch tells).
  void Ingested(uint64_t numbers) { base_.fetch_add(numbers); }

  // How many snapshots are held that were not taken through this, as the
  // library takes its own.
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
  // A thread's counters. A cache line each, lest writers wait for one another.
  struct alignas(64) Cell {
    std::atomic<uint64_t> begun{0};
    std::atomic<uint64_t> done{0};
  };
  static constexpr size_t kCells = 64;

  Cell* MyCell();
  // False: it has no_slowdown, and has waited long enough.
  bool WaitForGate(const rocksdb::WriteOptions& options) const;
  template <typename Operation>
  rocksdb::Status Counted(const rocksdb::WriteOptions& options,
                          uint64_t numbers, const Operation& operation);
  uint64_t Begun() const;
  uint64_t Done() const;
  // Until no write is under way. False: `cancelled` said so first, or RocksDB
  // stalls one; its flush, which ends that, may wait for a write of a listener.
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
  // between the two, one of ours would look foreign.
  mutable std::mutex snapshots_;
  uint64_t snapshots_held_ = 0;
  std::array<Cell, kCells> cells_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_COUNTED_DB_H_
