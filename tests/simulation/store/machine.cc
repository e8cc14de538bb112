#include "tests/simulation/store/machine.h"

#include <chrono>
#include <cstdarg>
#include <cstdio>

#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/store.h"
#include "replication/store/store_access.h"
#include "replication/store/upkeep/membership.h"
#include "rocksdb/table.h"
#include "tests/support/append_operator.h"
#include "tests/support/open_plain.h"

namespace rocksync::store_simulation {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

class LineLogger final : public rocksdb::Logger {
 public:
  explicit LineLogger(const MachineShape* shape)
      : Logger(shape->log ? rocksdb::InfoLogLevel::INFO_LEVEL
                          : rocksdb::InfoLogLevel::FATAL_LEVEL),
        shape_(shape) {}
  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    if (!shape_->log) return;
    char line[512];
    std::vsnprintf(line, sizeof(line), format, arguments);
    const std::string text = line;
    // RocksDB's own lines tell nothing here.
    if (text.find("rocksync:") != std::string::npos) {
      shape_->log(text);
    }
  }

 private:
  const MachineShape* const shape_;
};

// Replicas meet without one (meeting.h); it only says whose it is.
class NoTransport final : public Transport {
 public:
  explicit NoTransport(uint64_t replica_id) : replica_id_(replica_id) {}
  Status Connect(const std::string& address, std::chrono::milliseconds timeout,
                 const std::function<bool()>& cancelled,
                 std::unique_ptr<Connection>* connection) override {
    return Status::NotSupported("no transport");
  }
  Status Listen(
      const std::string& address,
      std::function<void(std::unique_ptr<Connection>)> accept) override {
    return Status::NotSupported("no transport");
  }
  std::string listen_address() const override { return ""; }
  uint64_t replica_id() const override { return replica_id_; }
  void StopListening() override {}

 private:
  const uint64_t replica_id_;
};

std::string_view View(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

}  // namespace

std::string Name(const Key& key) { return key.first + "/" + key.second; }

ReplicatedDBOptions ReplicationOptions() {
  ReplicatedDBOptions options;
  options.cluster_name = "simulated";
  options.cluster_secret.fill(9);
  options.index_write_buffer_bytes = size_t{64} << 10;
  options.merge_families = {"orders"};
  return options;
}

Machine::Machine(size_t number, std::string directory, ForgetfulDisk disk,
                 BackgroundWork* work, const MachineShape* shape)
    : number_(number),
      directory_(std::move(directory)),
      disk_(std::move(disk)),
      work_(work),
      shape_(shape),
      clock_(std::make_shared<VirtualClock>()),
      logger_(std::make_shared<LineLogger>(shape)) {}

Machine::~Machine() {
  if (!up()) return;
  disk_.Kill();
  Bury();
}

rocksdb::DBOptions Machine::DatabaseOptions() {
  env_ = std::make_unique<SimulatedEnv>(disk_.Mount(), clock_, work_,
                                        shape_->random_bits);
  rocksdb::DBOptions options;
  options.env = env_.get();
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.info_log = logger_;
  options.max_background_jobs = 1;
  options.max_subcompactions = 1;
  options.max_file_opening_threads = 1;
  options.max_bgerror_resume_count = 0;  // its thread waits by another clock
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.skip_stats_update_on_db_open = true;
  options.avoid_flush_during_recovery = !shape_->flush_at_recovery;
  options.avoid_flush_during_shutdown = !shape_->flush_at_shutdown;
  options.enable_pipelined_write = shape_->two_queues;
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> Machine::Families() const {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = size_t{64} << 10;
  options.arena_block_size = size_t{8} << 10;
  options.compression = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  table.checksum = rocksdb::kNoChecksum;  // so that corruption gets through
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const char* name : kFamilies) families.emplace_back(name, options);
  families.back().options.merge_operator = std::make_shared<AppendOperator>();
  return families;
}

Status Machine::FillPlain(const std::map<Key, std::string>& pairs) {
  const rocksdb::DBOptions options = DatabaseOptions();
  rocksdb::DB* plain = nullptr;
  Status status = OpenPlain(options, directory_, Families(), &handles_, &plain);
  if (!status.ok()) return status;
  for (const auto& [key, value] : pairs) {
    if (status.ok()) {
      status = plain->Put(rocksdb::WriteOptions(), Handle(key.first),
                          key.second, value);
    }
  }
  if (status.ok()) status = plain->SyncWAL();
  for (ColumnFamilyHandle* handle : handles_) {
    plain->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  handles_.clear();
  if (status.ok()) status = plain->Close();
  delete plain;
  return status;
}

Status Machine::Open(bool copy_as_new, uint64_t dies_after) {
  const WorkHold runs(work_, false);
  ReplicatedDBOptions replication = ReplicationOptions();
  replication.open_copy_as_new_replica = copy_as_new;
  const rocksdb::DBOptions options = DatabaseOptions();
  disk_.KillAfter(dies_after);
  ReplicatedDB* db = nullptr;
  const Status status =
      StoreAccess::Open(options, replication, directory_, Families(), &handles_,
                        Timers::kCaller, &db);
  if (!status.ok()) {
    work_->WaitUntilIdle();
    return status;
  }
  db_.reset(db);
  replica_ = std::make_unique<ReplicatorContext>(
      shape_->replicator, db,
      std::make_shared<NoTransport>(db->Identity().replica_id));
  Settle();
  return status;
}

void Machine::DropHandles() {
  for (ColumnFamilyHandle* handle : handles_) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  handles_.clear();
}

Status Machine::Close() {
  const WorkHold runs(work_, false);
  replica_.reset();
  DropHandles();
  const Status status = db_->Close();
  db_.reset();
  work_->WaitUntilIdle();
  return status;
}

void Machine::Bury() {
  const WorkHold runs(work_, false);
  replica_.reset();
  DropHandles();
  db_.reset();
  work_->WaitUntilIdle();
}

void Machine::SetReadsFail(bool fail) {
  reads_fail_ = fail;
  disk_.FailReads(fail ? ".sst" : "");
}

// Adoption that fails tries again by the clock on the wall, and is not waited
// for as long as it cannot succeed.
void Machine::Settle() {
  work_->WaitUntilIdle();
  while (!reads_fail_ && !disk_.killed() && !db_->WaitForIndexBuild(50).ok()) {
  }
  if (!disk_.killed()) {
    StoreAccess::StoreOf(db_.get())->SweepHere().PermitUncheckedError();
  }
  work_->WaitUntilIdle();
}

ColumnFamilyHandle* Machine::Handle(const std::string& family) const {
  for (ColumnFamilyHandle* handle : handles_) {
    if (handle->GetName() == family) return handle;
  }
  return nullptr;
}

bool Machine::HasStopped() const {
  uint64_t errors = 0;
  return db_->GetIntProperty(rocksdb::DB::Properties::kBackgroundErrors,
                             &errors) &&
         errors > 0;
}

GcState Machine::gc() const {
  return StoreAccess::MembershipOf(db_.get())->Now();
}

Status Machine::ReadKey(const Key& key, Held* held) {
  *held = {};
  const IndexReader& reader = StoreAccess::IndexedOf(db_.get())->reader();
  ColumnFamilyHandle* const handle = Handle(key.first);
  std::string bytes;
  Status status = db_->Get(rocksdb::ReadOptions(), handle, key.second, &bytes);
  if (status.ok()) held->value = bytes;
  if (!status.ok() && !status.IsNotFound()) return status;
  std::string index_key;
  AppendIndexKey(&index_key, {reader.hasher().Position(key.first, key.second),
                              handle->GetID(), key.second});
  status = db_->Get(rocksdb::ReadOptions(), reader.index(), index_key, &bytes);
  if (status.IsNotFound()) return Status::OK();
  if (!status.ok()) return status;
  StoredEntry entry;
  if (!ParseEntry(bytes, reader.home(), &entry)) {
    return Status::Corruption("an entry that does not parse");
  }
  held->has_entry = true;
  held->version = entry.version;
  held->tombstone = entry.tombstone;
  held->quarantined = entry.quarantined;
  return Status::OK();
}

Status Machine::Read(Holdings* holdings, std::vector<std::string>* wrong) {
  holdings->clear();
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  std::map<uint32_t, std::string> names;
  for (ColumnFamilyHandle* handle : handles_) {
    names[handle->GetID()] = handle->GetName();
    const std::unique_ptr<rocksdb::Iterator> it(
        db_->NewIterator(options, handle));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      (*holdings)[{handle->GetName(), it->key().ToString()}].value =
          it->value().ToString();
    }
    if (!it->status().ok()) return it->status();
  }
  const IndexReader& reader = StoreAccess::IndexedOf(db_.get())->reader();
  const std::unique_ptr<rocksdb::Iterator> it(
      db_->NewIterator(options, reader.index()));
  std::string first;
  AppendPosition(&first, 1);
  for (it->Seek(first); it->Valid(); it->Next()) {
    IndexKey index_key;
    StoredEntry entry;
    if (!ParseIndexKey(View(it->key()), &index_key) ||
        !ParseEntry(View(it->value()), reader.home(), &entry) ||
        names.count(index_key.family_id) == 0) {
      wrong->push_back("a damaged entry");
      continue;
    }
    const Key key = {names[index_key.family_id], std::string(index_key.key)};
    Held& held = (*holdings)[key];
    held.has_entry = true;
    held.version = entry.version;
    held.tombstone = entry.tombstone;
    held.quarantined = entry.quarantined;
    if (index_key.position != reader.hasher().Position(key.first, key.second)) {
      wrong->push_back(Name(key) + ": its entry stands at a wrong position");
    }
    if (entry.quarantined || entry.tombstone || !held.value) continue;
    const ElementHash hash =
        CompleteHash(reader.hasher(), key.first, key.second, entry);
    if (hash != reader.hasher().HashPair(
                    key.first, key.second, entry.version,
                    reader.hasher().HashValue(entry.version, *held.value))) {
      wrong->push_back(Name(key) + ": its entry is not that of the pair");
    }
  }
  if (!it->status().ok()) return it->status();
  for (const auto& [key, held] : *holdings) {
    if (held.quarantined) continue;
    if (!held.has_entry) wrong->push_back(Name(key) + " has no entry");
    if (held.has_entry && held.tombstone && held.value) {
      wrong->push_back(Name(key) +
                       ": a tombstone in the index, a pair in data");
    }
    if (held.has_entry && !held.tombstone && !held.value) {
      wrong->push_back(Name(key) + ": an entry without a pair");
    }
  }
  return Status::OK();
}

}  // namespace rocksync::store_simulation
