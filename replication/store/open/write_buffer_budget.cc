#include "replication/store/open/write_buffer_budget.h"

#include <memory>
#include <string>

#include "rocksdb/write_buffer_manager.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using rocksdb::WriteBufferManager;

// What empty memtables and their first entries take, with room to spare.
constexpr size_t kLeastBytes = size_t{64} << 10;
constexpr size_t kLeastFamilyBytes = size_t{8} << 10;

// A manager does not say whether allow_stall is set. Other databases that share
// it may flush once too early.
bool MayStall(WriteBufferManager* manager) {
  if (manager->cost_to_cache()) return true;  // a trial would empty the cache
  const size_t all = manager->buffer_size();
  manager->ReserveMem(all);
  const bool stalls = manager->ShouldStall();
  manager->ScheduleFreeMem(all);
  manager->FreeMem(all);
  return stalls;
}

}  // namespace

Status FitWriteBufferBudget(size_t families, rocksdb::DBOptions* options) {
  const bool own = options->write_buffer_manager != nullptr;
  if (!own && options->db_write_buffer_size != 0) {
    // As RocksDB would; the index's memtable has to know it too.
    options->write_buffer_manager =
        std::make_shared<WriteBufferManager>(options->db_write_buffer_size);
  }
  WriteBufferManager* const manager = options->write_buffer_manager.get();
  if (manager == nullptr || !manager->enabled()) return Status::OK();
  const size_t least = kLeastBytes + families * kLeastFamilyBytes;
  if (manager->buffer_size() < least) {
    const std::string what = own ? "the WriteBufferManager's budget"
                                 : "DBOptions::db_write_buffer_size";
    return Status::InvalidArgument(
        "rocksync: " + what + " is " + std::to_string(manager->buffer_size()) +
            " bytes",
        "the smallest that works for these families and the index is " +
            std::to_string(least));
  }
  if (!own || !MayStall(manager)) return Status::OK();
  if (options->enable_pipelined_write) {
    return Status::InvalidArgument(
        "rocksync: DBOptions::enable_pipelined_write with a "
        "WriteBufferManager that may stall writes",
        "turn either off: a stall ends for sure only if all families are "
        "flushed together, which pipelined writes exclude");
  }
  options->atomic_flush = true;
  return Status::OK();
}

}  // namespace rocksync
