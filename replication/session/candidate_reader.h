// The candidates of a round in the order in which they go, and what the
// snapshot holds of them, read some ahead.

#ifndef ROCKSYNC_REPLICATION_SESSION_CANDIDATE_READER_H_
#define ROCKSYNC_REPLICATION_SESSION_CANDIDATE_READER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "replication/session/entries_by_key.h"
#include "replication/session/round_work.h"
#include "replication/session/storage_view.h"

namespace rocksync {

// Memory: four bytes for each candidate, and about `max_bytes` of what is read
// ahead, or `max_entry_bytes` of entries.
class CandidateReader {
 public:
  // What the snapshot holds of a candidate.
  struct Found {
    absl::StatusOr<IndexEntry> entry;
    std::optional<absl::StatusOr<std::string>> value;  // nullopt: not read
  };

  // `candidates`: ordinals of the leaf batch, in order of position.
  CandidateReader(const RoundContext& context, size_t max_bytes,
                  size_t max_entry_bytes, std::vector<uint32_t> candidates)
      : context_(context),
        max_bytes_(max_bytes),
        max_entry_bytes_(max_entry_bytes),
        candidates_(std::move(candidates)) {}

  // The next one that is not covered, in order of position; with `before` set,
  // only if it lies at a position before that.
  std::optional<uint32_t> Next(std::optional<uint64_t> before);
  // The next one that is not covered, in an order in which values are fast to
  // read: many candidates at a time, these in order of their keys, which is
  // that of the data. From then on there is no other order.
  std::optional<uint32_t> NextByKey();
  // All were taken.
  bool at_end() const {
    return next_ == candidates_.size() && sorted_.empty() && unsorted_.empty();
  }
  // None is left to be taken that is not covered.
  bool all_are_covered() const;

  // The element, and its value if that was read with it. Of the candidate that
  // was taken last this reads some of those that follow, too; any other element
  // is read by itself.
  Found Find(uint32_t ordinal);

 private:
  // So few that the peer does not wait for the first of them.
  static constexpr size_t kFirstSorted = size_t{1} << 12;

  // Of the first of these ordinals, as StorageSnapshot::FindElements.
  std::vector<absl::StatusOr<IndexEntry>> FindEntries(
      const std::vector<uint32_t>& ordinals, size_t max_bytes) const;
  // The next candidates that are not covered, `most` at most; `next_` is behind
  // them then.
  std::vector<uint32_t> NextOrdinals(size_t most);
  // False: nothing is left, or nothing was read before it was cancelled.
  bool SortMore();
  Found FindByKey(uint32_t ordinal);
  void ReadAhead();
  // Into those `found` whose entries are live, in order of their keys; as many
  // as max_bytes_ let.
  void ReadValues(std::vector<Found>* found) const;

  const RoundContext context_;
  const size_t max_bytes_;
  const size_t max_entry_bytes_;
  const std::vector<uint32_t> candidates_;
  size_t next_ = 0;
  // Candidates that were read and not yet taken, in order.
  std::deque<std::pair<uint32_t, Found>> ahead_;
  size_t read_ahead_ = 1;  // candidates at once, as their sizes let
  // Of NextByKey.
  bool by_key_ = false;
  EntriesByKey sorted_;             // those to come
  std::vector<uint32_t> unsorted_;  // as their entries did not read
  std::optional<IndexEntry> taken_;
  std::unique_ptr<StorageSnapshot::ValueReader> values_;
  size_t sort_ = kFirstSorted;  // candidates at once
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_CANDIDATE_READER_H_
