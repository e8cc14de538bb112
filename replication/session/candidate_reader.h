// The candidates of a round in the order in which they are offered, and what
// the snapshot holds of them, read some ahead.

#ifndef ROCKSYNC_REPLICATION_SESSION_CANDIDATE_READER_H_
#define ROCKSYNC_REPLICATION_SESSION_CANDIDATE_READER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "replication/session/round_work.h"
#include "replication/session/storage_view.h"

namespace rocksync {

// Memory: four bytes for each candidate, and about `most_bytes` of what is read
// ahead.
class CandidateReader {
 public:
  // `candidates`: ordinals of the leaf batch, in order of position.
  CandidateReader(const RoundContext& context, size_t most_bytes,
                  std::vector<uint32_t> candidates)
      : context_(context),
        most_bytes_(most_bytes),
        candidates_(std::move(candidates)) {}

  // The next one that is not covered; with `before` set, only if it lies at a
  // position before that.
  std::optional<uint32_t> Next(std::optional<uint64_t> before);
  // All were taken.
  bool at_end() const { return next_ == candidates_.size(); }
  // None is left to be taken that is not covered.
  bool all_are_covered() const;

  // The element, and its value if that was read with it. Of the candidate that
  // was taken last this reads some of those that follow, too; any other element
  // is read by itself.
  StorageSnapshot::Found Find(uint32_t ordinal);

 private:
  void ReadAhead();

  const RoundContext context_;
  const size_t most_bytes_;
  const std::vector<uint32_t> candidates_;
  size_t next_ = 0;
  // Candidates that were read and not yet taken, in order.
  std::deque<std::pair<uint32_t, StorageSnapshot::Found>> ahead_;
  size_t read_ahead_ = 1;  // candidates at once, as their sizes let
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_CANDIDATE_READER_H_
