// Collects the marks of a TransactionDB's two phases in a batch of a log.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_TWO_PHASE_MARKS_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_TWO_PHASE_MARKS_H_

#include <string>
#include <vector>

#include "replication/base/rocksdb_version.h"
#include "rocksdb/slice.h"

namespace rocksync {

class TwoPhaseMarks {
 public:
  void Add(BatchHandler::TwoPhase mark, const rocksdb::Slice& name);

  bool prepares() const { return prepares_; }
  // Names of transactions.
  const std::vector<std::string>& prepared() const { return prepared_; }
  const std::vector<std::string>& committed() const { return committed_; }
  const std::vector<std::string>& rolled_back() const { return rolled_back_; }

 private:
  bool prepares_ = false;
  std::vector<std::string> prepared_;
  std::vector<std::string> committed_;
  std::vector<std::string> rolled_back_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_TWO_PHASE_MARKS_H_
