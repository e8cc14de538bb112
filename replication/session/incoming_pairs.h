// Incoming pairs, those that the peer offers or sends: each is judged against
// the snapshot, applied together with others, and accounted for in the merged
// set of the leaf batch.
//
// Judging and accounting go by the snapshot, applying goes by what is stored
// now: local writes during the session change the second and not the first.

#ifndef ROCKSYNC_REPLICATION_SESSION_INCOMING_PAIRS_H_
#define ROCKSYNC_REPLICATION_SESSION_INCOMING_PAIRS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "replication/session/leaf_batch.h"
#include "replication/session/pair_coding.h"
#include "replication/session/round_work.h"
#include "replication/session/session.h"
#include "replication/session/storage_view.h"

namespace rocksync {

enum class Verdict : uint8_t {
  kWanted,   // it beats what the snapshot holds for its key
  kKnown,    // the snapshot holds exactly it
  kBeaten,   // the snapshot holds one that beats it
  kRefused,  // it would win, but may not: too far ahead, or too large
};

struct Judgement {
  Verdict verdict = Verdict::kRefused;
  // The element that the snapshot holds for the key, if any.
  std::optional<uint32_t> own;
  bool equal_versions = false;  // with that element
};

class IncomingPairs {
 public:
  // `options` must outlive it. The peer may offer and send together at most
  // twice as many pairs as it said it has elements in the leaf batch.
  IncomingPairs(const RoundContext& context, const SessionOptions* options)
      : context_(context), options_(options) {}

  // Judges a pair; one with a value must come with all of it.
  // InvalidArgument if it cannot belong here. Counts what it refuses.
  absl::StatusOr<Judgement> Judge(MessageType type, const WirePair& pair);

  // Position of a pair that was judged last.
  uint64_t position() const { return position_; }

  // Takes a pair judged kWanted whose value is there; `own` is from its
  // Judgement. Applies once enough have come.
  absl::Status Take(Pair pair, std::optional<uint32_t> own);
  // Counts a pair that was refused after the fact, or whose value never came.
  void Refuse() { ++refused_; }
  absl::Status Apply();

  // Pairs that were refused, held back or unreadable.
  uint64_t refused() const { return refused_; }
  uint64_t judged() const { return judged_; }

 private:
  Verdict Compare(const WirePair& pair, const IndexEntry& own) const;
  Verdict CompareEqualVersions(const WirePair& pair,
                               const IndexEntry& own) const;
  ElementHash HashOf(const WirePair& pair) const;
  absl::Status CountIn(const Pair& pair);
  bool Refuses(const WirePair& pair);

  struct Taken {
    std::optional<uint32_t> own;
    PlacedElement element;
  };

  const RoundContext context_;
  const SessionOptions* const options_;
  uint64_t position_ = 0;
  uint64_t judged_ = 0;
  uint64_t refused_ = 0;
  std::vector<Pair> pairs_;
  std::vector<Taken> taken_;
  size_t pairs_bytes_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_INCOMING_PAIRS_H_
