#include "replication/store/open/two_phase_marks.h"

namespace rocksync {

void TwoPhaseMarks::Add(BatchHandler::TwoPhase mark,
                        const rocksdb::Slice& name) {
  switch (mark) {
    case BatchHandler::TwoPhase::kBeginPrepare:
      prepares_ = true;
      return;
    case BatchHandler::TwoPhase::kEndPrepare:
      prepared_.push_back(name.ToString());
      return;
    case BatchHandler::TwoPhase::kCommit:
      committed_.push_back(name.ToString());
      return;
    case BatchHandler::TwoPhase::kRollback:
      rolled_back_.push_back(name.ToString());
      return;
  }
}

}  // namespace rocksync
