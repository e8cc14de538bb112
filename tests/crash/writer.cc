#include "tests/crash/writer.h"

#include <chrono>
#include <string>
#include <thread>

#include "replication/store/store_access.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/write_batch.h"
#include "tests/crash/journal.h"

namespace rocksync::crash {

using rocksdb::Status;

void Writer::Run(const Operation& operation) {
  SendBegin(operation);
  const Status status = fault_ == Fault::kNone
                            ? Write(operation, replica_->db())
                            : WriteWithFault(operation);
  MustBeOk(status, "write " + Encode(operation));
  SendDone(operation.id);
}

rocksdb::WriteOptions Writer::Options(const Operation& operation) const {
  rocksdb::WriteOptions options;
  options.sync = operation.sync && fault_ != Fault::kForgetSync;
  return options;
}

Status Writer::Write(const Operation& operation, rocksdb::DB* to) {
  if (operation.range) {
    const uint32_t first = operation.changes.front().key;
    const uint32_t last = operation.changes.back().key;
    return to->DeleteRange(Options(operation), FamilyFor(first), KeyName(first),
                           KeyName(last + 1));
  }
  if (operation.changes.size() == 1 && to == replica_->db()) {
    return WriteOne(operation, operation.changes.front());
  }
  return WriteBatch(operation, to);
}

Status Writer::WriteOne(const Operation& operation, const Change& change) {
  rocksdb::DB* db = replica_->db();
  if (change.deleted) {
    return db->Delete(Options(operation), FamilyFor(change.key),
                      KeyName(change.key));
  }
  return db->Put(Options(operation), FamilyFor(change.key), KeyName(change.key),
                 MakeValue(operation.id, change.key, change.size));
}

Status Writer::WriteBatch(const Operation& operation, rocksdb::DB* to) {
  rocksdb::WriteBatch batch;
  for (const Change& change : operation.changes) {
    const Status status =
        change.deleted
            ? batch.Delete(FamilyFor(change.key), KeyName(change.key))
            : batch.Put(FamilyFor(change.key), KeyName(change.key),
                        MakeValue(operation.id, change.key, change.size));
    if (!status.ok()) return status;
  }
  return to->Write(Options(operation), &batch);
}

// The database without the index.
rocksdb::DB* Writer::Plain() const {
  return StoreAccess::IndexedOf(replica_->db())->db();
}

Status Writer::WriteWithFault(const Operation& operation) {
  const bool now = operation.id % 16 == 0;
  switch (fault_) {
    case Fault::kDropEntry:
      // As a bug of the library would: foreign writes are
      // noticed.
      return Write(operation, now ? Plain() : replica_->db());
    case Fault::kDropPair:
      return now ? DropPair(operation) : Write(operation, replica_->db());
    case Fault::kLoseWrite:
      return now ? Status::OK() : Write(operation, replica_->db());
    case Fault::kResurrect:
      return Resurrect(operation);
    case Fault::kTearBatch:
      return TearBatch(operation);
    default:
      return Write(operation, replica_->db());
  }
}

Status Writer::DropPair(const Operation& operation) {
  Status status = Write(operation, replica_->db());
  for (const Change& change : operation.changes) {
    if (status.ok()) {
      status = Plain()->Delete(rocksdb::WriteOptions(), FamilyFor(change.key),
                               KeyName(change.key));
    }
  }
  return status;
}

Status Writer::Resurrect(const Operation& operation) {
  const Change& change = operation.changes.front();
  std::string before;
  const Status found =
      replica_->db()->Get(rocksdb::ReadOptions(), FamilyFor(change.key),
                          KeyName(change.key), &before);
  const Status status = Write(operation, replica_->db());
  if (!status.ok() || !found.ok() || !change.deleted) return status;
  return replica_->db()->Put(rocksdb::WriteOptions(), FamilyFor(change.key),
                             KeyName(change.key), before);
}

Status Writer::TearBatch(const Operation& operation) {
  for (const Change& change : operation.changes) {
    const Status status = WriteOne(operation, change);
    if (!status.ok()) return status;
    if (operation.changes.size() > 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  return Status::OK();
}

}  // namespace rocksync::crash
