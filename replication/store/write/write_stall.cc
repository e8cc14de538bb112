#include "replication/store/write/write_stall.h"

#include <cstdint>
#include <thread>

#include "rocksdb/write_buffer_manager.h"

namespace rocksync {
namespace {

// Polled, as nothing tells when a stall ends.
constexpr auto kStallPoll = std::chrono::milliseconds(2);

}  // namespace

using rocksdb::Status;

std::function<bool()> LockDeadline(std::chrono::milliseconds patience) {
  return [until = std::chrono::steady_clock::now() + patience] {
    return std::chrono::steady_clock::now() >= until;
  };
}

bool WritesStall(rocksdb::DB* db) {
  uint64_t stopped = 0;
  uint64_t rate = 0;  // of writes that are slowed down
  db->GetIntProperty(rocksdb::DB::Properties::kIsWriteStopped, &stopped);
  db->GetIntProperty(rocksdb::DB::Properties::kActualDelayedWriteRate, &rate);
  if (stopped != 0 || rate != 0) return true;
  const auto manager = db->GetDBOptions().write_buffer_manager;
  return manager != nullptr && manager->ShouldStall();
}

std::function<bool()> NoSlowdownDeadline(rocksdb::DB* db,
                                         const rocksdb::WriteOptions& options) {
  if (!options.no_slowdown) return {};
  return [db, impatient = LockDeadline()] {
    return impatient() || WritesStall(db);
  };
}

Status NoSlowdownError() {
  return Status::Incomplete("Write stall", "rocksync: another write waits");
}

Status Stalled() {
  return Status::Busy(
      "rocksync: RocksDB stalls writes on this replica",
      "sessions try again by themselves; see RocksDB's wiki on write stalls");
}

Status WaitOutStall(const std::function<Status()>& attempt,
                    const std::function<bool()>& gives_up) {
  while (true) {
    const Status status = attempt();
    if (!status.IsIncomplete() || (gives_up && gives_up())) return status;
    std::this_thread::sleep_for(kStallPoll);
  }
}

Status WritePatiently(const std::function<Status()>& write,
                      std::chrono::milliseconds patience) {
  const Status status = WaitOutStall(write, LockDeadline(patience));
  return status.IsIncomplete() ? Stalled() : status;
}

Status WriteUnlessBudgetStalls(rocksdb::DB* db,
                               const rocksdb::WriteOptions& options,
                               rocksdb::WriteBatch* batch,
                               std::chrono::milliseconds patience) {
  const auto manager = db->GetDBOptions().write_buffer_manager;
  if (manager == nullptr) return db->Write(options, batch);
  rocksdb::WriteOptions impatient = options;
  impatient.no_slowdown = true;
  return WritePatiently(
      [&] {
        const Status status = db->Write(impatient, batch);
        return status.IsIncomplete() && !manager->ShouldStall()
                   ? db->Write(options, batch)
                   : status;
      },
      patience);
}

Status PatientWriter::Write(rocksdb::WriteOptions options,
                            rocksdb::WriteBatch* batch,
                            std::chrono::milliseconds patience) {
  options.no_slowdown = true;
  return WritePatiently([&] { return db_->Write(options, batch); }, patience);
}

Status PatientWriter::PutRecord(const rocksdb::WriteOptions& options,
                                const std::string& key,
                                const std::string& record) {
  rocksdb::WriteBatch batch;
  const Status status = batch.Put(index_, key, record);
  return status.ok() ? Write(options, &batch) : status;
}

}  // namespace rocksync
