#include "replication/store/write/counted_db.h"

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "replication/base/forked.h"
#include "replication/store/write/write_stall.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::WriteOptions;

// How to wait for a write, which takes microseconds, or as long as a sync.
constexpr int kYields = 16;
constexpr auto kPoll = std::chrono::microseconds(100);

// A pointer that does not own RocksDB's object.
std::shared_ptr<rocksdb::DB> Borrowed(rocksdb::DB* db) {
  return {db, [](rocksdb::DB*) {}};
}

}  // namespace

CountedDB::CountedDB(rocksdb::DB* db, std::shared_ptr<const LogWatch> log)
    : StackableDB(Borrowed(db)),
      log_(std::move(log)),
      base_(db->GetLatestSequenceNumber()) {}

Status CountedDB::LogStatus() const {
  const Status here = CheckMayWriteHere();
  return here.ok() ? log_->status() : here;
}

CountedDB::Cell* CountedDB::MyCell() {
  static std::atomic<size_t> threads{0};
  thread_local const size_t mine = threads.fetch_add(1) % kCells;
  return &cells_[mine];
}

uint64_t CountedDB::Begun() const {
  uint64_t sum = 0;
  for (const Cell& cell : cells_) sum += cell.begun.load();
  return sum;
}

uint64_t CountedDB::Done() const {
  uint64_t sum = 0;
  for (const Cell& cell : cells_) sum += cell.done.load();
  return sum;
}

bool CountedDB::WaitForGate(const WriteOptions& options) const {
  const auto impatient = LockDeadline();
  while (gate_.load(std::memory_order_acquire) != 0) {
    if (!options.no_slowdown) {
      gate_.wait(1);
    } else if (impatient()) {
      return false;
    } else {
      std::this_thread::sleep_for(kPoll);
    }
  }
  return true;
}

void CountedDB::OpenGate() {
  gate_.store(0, std::memory_order_release);
  gate_.notify_all();
}

template <typename Operation>
Status CountedDB::Counted(const WriteOptions& options, uint64_t numbers,
                          const Operation& operation) {
  const Status writable = LogStatus();
  if (!writable.ok()) return writable;
  Cell* const cell = MyCell();
  // The write is announced before it checks the gate: a thread that closes the
  // gate and then finds no write announced knows that none is under way.
  cell->begun.fetch_add(numbers);
  while (gate_.load() != 0) {
    cell->begun.fetch_sub(numbers);
    if (!WaitForGate(options)) return NoSlowdownError();
    cell->begun.fetch_add(numbers);
  }
  const Status status = operation();
  if (status.ok()) {
    cell->done.fetch_add(numbers);
  } else {
    cell->begun.fetch_sub(numbers);
  }
  return status;
}

bool CountedDB::Drain(const std::function<bool()>& cancelled) const {
  const auto impatient = LockDeadline();
  for (int tries = 0;; ++tries) {
    // Done is read first: no cell's `done` ever exceeds its `begun`, so equal
    // sums mean equal cells.
    const uint64_t done = Done();
    if (done == Begun()) return true;
    if (cancelled && cancelled()) return false;
    if (impatient() && WritesStall(db_)) return false;
    if (tries < kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kPoll);
    }
  }
}

bool CountedDB::CountForeign(const std::function<bool()>& cancelled,
                             uint64_t* foreign) {
  // Read first: the numbers of these ingestions have been counted.
  const uint64_t ingestions = ingestions_done_.load();
  // The usual case: all numbers that RocksDB has given out were counted before.
  const uint64_t base = base_.load();
  const uint64_t done = Done();
  *foreign = 0;
  if (GetLatestSequenceNumber() == base + done) return true;

  const std::lock_guard lock(counting_);
  gate_.store(1);
  const bool drained = Drain(cancelled);
  if (drained) {
    const uint64_t latest = GetLatestSequenceNumber();
    *foreign = latest - base_.load() - Done();
  }
  OpenGate();
  return drained && (*foreign == 0 || ingestions_begun_.load() == ingestions);
}

Status CountedDB::Alone(const std::function<Status()>& work) {
  const Status writable = LogStatus();
  if (!writable.ok()) return writable;
  const std::lock_guard lock(counting_);
  gate_.store(1);
  while (!Drain({})) {
    OpenGate();
    std::this_thread::sleep_for(kStallPatience);
    gate_.store(1);
  }
  const uint64_t before = GetLatestSequenceNumber();
  const Status status = work();
  base_.fetch_add(GetLatestSequenceNumber() - before);
  OpenGate();
  return status;
}

uint64_t CountedDB::CountForeignSnapshots() const {
  const std::lock_guard lock(snapshots_);
  uint64_t all = 0;
  if (!db_->GetIntProperty(Properties::kNumSnapshots, &all)) return 0;
  return all - snapshots_held_;
}

const rocksdb::Snapshot* CountedDB::GetSnapshot() {
  const std::lock_guard lock(snapshots_);
  const rocksdb::Snapshot* const snapshot = db_->GetSnapshot();
  if (snapshot != nullptr) ++snapshots_held_;
  return snapshot;
}

void CountedDB::ReleaseSnapshot(const rocksdb::Snapshot* snapshot) {
  const std::lock_guard lock(snapshots_);
  db_->ReleaseSnapshot(snapshot);
  if (snapshot != nullptr) --snapshots_held_;
}

Status CountedDB::Put(const WriteOptions& options, ColumnFamilyHandle* family,
                      const Slice& key, const Slice& value) {
  return Counted(options, 1,
                 [&] { return db_->Put(options, family, key, value); });
}

Status CountedDB::Put(const WriteOptions& options, ColumnFamilyHandle* family,
                      const Slice& key, const Slice& ts, const Slice& value) {
  return Counted(options, 1,
                 [&] { return db_->Put(options, family, key, ts, value); });
}

Status CountedDB::PutEntity(const WriteOptions& options,
                            ColumnFamilyHandle* family, const Slice& key,
                            const rocksdb::WideColumns& columns) {
  return Counted(options, 1,
                 [&] { return db_->PutEntity(options, family, key, columns); });
}

Status CountedDB::Delete(const WriteOptions& options,
                         ColumnFamilyHandle* family, const Slice& key) {
  return Counted(options, 1, [&] { return db_->Delete(options, family, key); });
}

Status CountedDB::Delete(const WriteOptions& options,
                         ColumnFamilyHandle* family, const Slice& key,
                         const Slice& ts) {
  return Counted(options, 1,
                 [&] { return db_->Delete(options, family, key, ts); });
}

Status CountedDB::SingleDelete(const WriteOptions& options,
                               ColumnFamilyHandle* family, const Slice& key) {
  return Counted(options, 1,
                 [&] { return db_->SingleDelete(options, family, key); });
}

Status CountedDB::SingleDelete(const WriteOptions& options,
                               ColumnFamilyHandle* family, const Slice& key,
                               const Slice& ts) {
  return Counted(options, 1,
                 [&] { return db_->SingleDelete(options, family, key, ts); });
}

Status CountedDB::DeleteRange(const WriteOptions& options,
                              ColumnFamilyHandle* family,
                              const Slice& begin_key, const Slice& end_key) {
  return Counted(options, 1, [&] {
    return db_->DeleteRange(options, family, begin_key, end_key);
  });
}

Status CountedDB::Merge(const WriteOptions& options, ColumnFamilyHandle* family,
                        const Slice& key, const Slice& value) {
  return Counted(options, 1,
                 [&] { return db_->Merge(options, family, key, value); });
}

Status CountedDB::Write(const WriteOptions& options,
                        rocksdb::WriteBatch* batch) {
  if (batch == nullptr) return db_->Write(options, batch);  // an error
  return Counted(options, batch->Count(),
                 [&] { return db_->Write(options, batch); });
}

Status CountedDB::FlushWAL(bool sync) {
  const Status writable = LogStatus();
  return writable.ok() ? db_->FlushWAL(sync) : writable;
}

Status CountedDB::SyncWAL() {
  const Status writable = LogStatus();
  return writable.ok() ? db_->SyncWAL() : writable;
}

Status CountedDB::Count(const WriteOptions& options, uint64_t numbers,
                        const std::function<Status()>& write) {
  return Counted(options, numbers, write);
}

Status CountedDB::Ingest(const std::function<Status()>& ingestion) {
  const Status writable = LogStatus();
  if (!writable.ok()) return writable;
  ++ingestions_begun_;
  const Status status = ingestion();
  ++ingestions_done_;
  return status;
}

Status CountedDB::IngestExternalFile(
    ColumnFamilyHandle* family, const std::vector<std::string>& files,
    const rocksdb::IngestExternalFileOptions& options) {
  return Ingest(
      [&] { return db_->IngestExternalFile(family, files, options); });
}

Status CountedDB::IngestExternalFiles(
    const std::vector<rocksdb::IngestExternalFileArg>& args) {
  return Ingest([&] { return db_->IngestExternalFiles(args); });
}

}  // namespace rocksync
