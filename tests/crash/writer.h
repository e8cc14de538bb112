// Carries operations out in a child, announced before and acknowledged after.

#ifndef ROCKSYNC_TESTS_CRASH_WRITER_H_
#define ROCKSYNC_TESTS_CRASH_WRITER_H_

#include "rocksdb/status.h"
#include "tests/crash/fault.h"
#include "tests/crash/operation.h"
#include "tests/crash/replica.h"

namespace rocksync::crash {

// Thread-safe.
class Writer {
 public:
  Writer(Replica* replica, Fault fault) : replica_(replica), fault_(fault) {}

  void Run(const Operation& operation);

 private:
  rocksdb::Status Write(const Operation& operation, rocksdb::DB* to);
  rocksdb::Status WriteOne(const Operation& operation, const Change& change);
  rocksdb::Status WriteBatch(const Operation& operation, rocksdb::DB* to);

  // How each fault goes about it.
  rocksdb::DB* Plain() const;
  rocksdb::Status WriteWithFault(const Operation& operation);
  rocksdb::Status TearBatch(const Operation& operation);
  rocksdb::Status DropPair(const Operation& operation);
  rocksdb::Status Resurrect(const Operation& operation);

  rocksdb::WriteOptions Options(const Operation& operation) const;
  rocksdb::ColumnFamilyHandle* FamilyFor(uint32_t key) const {
    return replica_->family(FamilyOf(key));
  }

  Replica* const replica_;
  const Fault fault_;
};

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_WRITER_H_
