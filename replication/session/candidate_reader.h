// Reads the candidates of a round from the snapshot, in the order in which they
// are sent, and some of them ahead.

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

// Iterates over candidates. Memory: four bytes for each of them, and about
// `max_bytes` of what is read ahead, or `max_entry_bytes` of entries.
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

  // Returns the next candidate that is not covered, in order of position; with
  // `before` set, only if its position is before that.
  std::optional<uint32_t> Next(std::optional<uint64_t> before);
  // Returns the next candidate that is not covered, in an order in which values
  // are fast to read: many candidates at a time, sorted by key, as the data are
  // stored. From then on this is the only order.
  std::optional<uint32_t> NextByKey();
  // True if all candidates were taken.
  bool at_end() const {
    return next_ == candidates_.size() && sorted_.empty() && unsorted_.empty();
  }
  // True if every candidate that is left to be taken is covered.
  bool all_are_covered() const;

  // Returns the entry of an element, and its value if that was read with it.
  // For the candidate that was taken last this reads some that follow, too; any
  // other element is read by itself.
  Found Find(uint32_t ordinal);

 private:
  // Candidates of the first sort: so few that the peer does not wait for the
  // first of them.
  static constexpr size_t kFirstSorted = size_t{1} << 12;

  // Returns entries of the first of these ordinals, as
  // StorageSnapshot::FindElements does.
  std::vector<absl::StatusOr<IndexEntry>> FindEntries(
      const std::vector<uint32_t>& ordinals, size_t max_bytes) const;
  // Returns the next candidates that are not covered, at most `most`, and moves
  // `next_` behind them.
  std::vector<uint32_t> NextOrdinals(size_t most);
  // Sorts more candidates by key. Returns false if none is left, or if it was
  // cancelled before it read any.
  bool SortMore();
  Found FindByKey(uint32_t ordinal);
  void ReadAhead();
  // Reads values into those `found` whose entries are live, in order of their
  // keys, up to about max_bytes_ in all.
  void ReadValues(std::vector<Found>* found) const;

  const RoundContext context_;
  const size_t max_bytes_;
  const size_t max_entry_bytes_;
  const std::vector<uint32_t> candidates_;
  size_t next_ = 0;
  // Candidates that were read and not yet taken, in order.
  std::deque<std::pair<uint32_t, Found>> ahead_;
  size_t read_ahead_ = 1;  // candidates to read at once, by their sizes
  // The state of NextByKey.
  bool by_key_ = false;
  EntriesByKey sorted_;             // candidates to come
  std::vector<uint32_t> unsorted_;  // those with unreadable entries
  std::optional<IndexEntry> taken_;
  std::unique_ptr<StorageSnapshot::ValueReader> values_;
  size_t sort_ = kFirstSorted;  // candidates to sort at once
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_CANDIDATE_READER_H_
