// Incoming pairs, those that the peer offers or sends: each is judged against
// the snapshot, applied together with others, and accounted for in the merged
// set of the leaf batch.
//
// Judging and accounting go by the snapshot, applying goes by what is stored
// now: local writes during the session change only what is stored.

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
  kWanted,   // the pair beats what the snapshot holds for its key
  kKnown,    // the snapshot holds exactly this pair
  kBeaten,   // the snapshot holds a pair that beats it
  kRefused,  // the pair would win, but is too far ahead, or too large
};

struct Judgement {
  Verdict verdict = Verdict::kRefused;
  // The ordinal of the element that the snapshot holds for the key, if any.
  std::optional<uint32_t> own;
  bool equal_versions = false;  // of the pair and that element
};

class IncomingPairs {
 public:
  // `options` must outlive this object. The peer may offer and send together at
  // most twice as many pairs as it said it has elements in the leaf batch.
  IncomingPairs(const RoundContext& context, const SessionOptions* options)
      : context_(context), options_(options) {}

  // Judges a pair; if it has a value, all of it must be there. Returns
  // InvalidArgument if the pair cannot belong here. Counts what it refuses.
  absl::StatusOr<Judgement> Judge(MessageType type, const WirePair& pair);

  // The position of the pair that was judged last.
  uint64_t position() const { return position_; }

  // Takes a pair that was judged kWanted, with its value; `own` is from its
  // Judgement. Applies the pairs taken once there are enough.
  absl::Status Take(Pair pair, std::optional<uint32_t> own);
  // Counts a pair that was refused after it was judged, or whose value never
  // came.
  void Refuse() { ++refused_; }
  absl::Status Apply();

  // The number of pairs that were refused, held back or unreadable.
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
