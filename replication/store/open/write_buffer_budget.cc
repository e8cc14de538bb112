#include "replication/store/open/write_buffer_budget.h"

#include <memory>
#include <string>

#include "replication/base/rocksdb_version.h"
#include "rocksdb/write_buffer_manager.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyOptions;
using rocksdb::Status;
using rocksdb::WriteBufferManager;

// The bytes of empty memtables and their first entries, with room to spare.
constexpr size_t kLeastBytes = size_t{64} << 10;
constexpr size_t kLeastFamilyBytes = size_t{8} << 10;

// Tries out whether allow_stall is set, as a manager does not say it. Other
// databases that share the manager may flush once too early.
bool MayStall(WriteBufferManager* manager) {
  if (manager->cost_to_cache()) return true;  // a trial would empty the cache
  const size_t all = manager->buffer_size();
  manager->ReserveMem(all);
  const bool stalls = manager->ShouldStall();
  manager->ScheduleFreeMem(all);
  manager->FreeMem(all);
  return stalls;
}

// Returns about how much is kept, at most, of what was flushed: the latest
// memtable, whatever its size, and as many before it as the options say.
size_t MostKeptBytes(const ColumnFamilyOptions& options) {
  const int64_t bytes = options.max_write_buffer_size_to_maintain;
  const int count = MemtablesToKeep(options);
  if (bytes == 0 && count == 0) return 0;
  const auto all = static_cast<size_t>(options.max_write_buffer_number);
  if (bytes > 0) return options.write_buffer_size + static_cast<size_t>(bytes);
  return options.write_buffer_size *
         (bytes < 0 || count < 0 ? all : static_cast<size_t>(count));
}

}  // namespace

Status CheckKeptMemtables(const std::vector<ColumnFamilyDescriptor>& families,
                          const rocksdb::DBOptions& options) {
  WriteBufferManager* const manager = options.write_buffer_manager.get();
  size_t kept = 0;
  std::string which;
  for (const ColumnFamilyDescriptor& family : families) {
    const size_t bytes = MostKeptBytes(family.options);
    if (bytes > 0) which = family.name;
    kept += bytes;
  }
  if (manager == nullptr || !manager->enabled() ||
      kept < manager->buffer_size() / 2 || !MayStall(manager)) {
    return Status::OK();
  }
  return Status::InvalidArgument(
      "rocksync: max_write_buffer_size_to_maintain (or ..._number_to_maintain) "
      "of the column family '" +
          which + "' with a WriteBufferManager that may stall writes",
      "flushed memtables that RocksDB keeps, here up to about " +
          std::to_string(kept) +
          " bytes, can take half of the manager's budget, and then a stall "
          "never ends: set them to 0, make write_buffer_size smaller or "
          "the budget larger, or use a manager without allow_stall");
}

Status FitWriteBufferBudget(const std::vector<ColumnFamilyDescriptor>& families,
                            rocksdb::DBOptions* options) {
  const bool own = options->write_buffer_manager != nullptr;
  if (!own && options->db_write_buffer_size != 0) {
    // RocksDB would make the same manager; the index's memtable has to know it,
    // too.
    options->write_buffer_manager =
        std::make_shared<WriteBufferManager>(options->db_write_buffer_size);
  }
  WriteBufferManager* const manager = options->write_buffer_manager.get();
  if (manager == nullptr || !manager->enabled()) return Status::OK();
  const size_t least = kLeastBytes + families.size() * kLeastFamilyBytes;
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
  return CheckKeptMemtables(families, *options);
}

}  // namespace rocksync
