// The WAL of a database, record by record.

#ifndef ROCKSYNC_TESTS_INTEGRATION_STORE_READ_LOG_H_
#define ROCKSYNC_TESTS_INTEGRATION_STORE_READ_LOG_H_

#include <cstdint>
#include <memory>

#include "rocksdb/db.h"
#include "rocksdb/status.h"
#include "rocksdb/transaction_log.h"
#include "rocksdb/write_batch.h"

namespace rocksync {

// Shows `handler` what the log holds from sequence number `from` on; the latest
// one must not be less.
inline rocksdb::Status ReadLog(rocksdb::DB* db, uint64_t from,
                               rocksdb::WriteBatch::Handler* handler) {
  std::unique_ptr<rocksdb::TransactionLogIterator> log;
  rocksdb::Status status = db->GetUpdatesSince(from, &log);
  for (; status.ok() && log->Valid(); log->Next()) {
    status = log->GetBatch().writeBatchPtr->Iterate(handler);
  }
  return status.ok() ? log->status() : status;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_STORE_READ_LOG_H_
