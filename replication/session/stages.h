// The stages of a comparison as a table: which messages may come in each, and
// which part handles it. Pure.

#ifndef ROCKSYNC_REPLICATION_SESSION_STAGES_H_
#define ROCKSYNC_REPLICATION_SESSION_STAGES_H_

#include <cstdint>

#include "replication/session/messages.h"

namespace rocksync {

// A stage of a comparison. A summary that was sent awaits the peer's answer;
// one that was received is answered in this side's turn.
enum class Stage : uint8_t {
  // Summaries of the whole sets (class Summaries).
  kHelloSent,
  kHelloReceived,
  kTotalSent,
  kTotalReceived,
  // The leaves that differ are located, by an exchange over all leaves or by a
  // search (LeafLocator).
  kLocating,
  kSearching,
  // A search in finer leaves that this side has not the memory for.
  kSearchRefused,
  // The side that has the turn proposes what comes next (Batches or, after a
  // search, WholeSetRound).
  kChoosing,
  kBatchSent,  // a batch is proposed (Batches)
  kBatchReceived,
  kPureLeavesSent,  // a whole-set round is proposed (WholeSetRound)
  kPureLeavesReceived,
  // Pure leaves where the side that proposes begins the exchange at once.
  // Refused: the other side takes no part in it, as it may be too large for
  // that side.
  kPureLeavesBegun,
  kPureLeavesRefused,
  // Rounds (Batches or WholeSetRound), and the summaries between them
  // (Summaries).
  kRound,
  kRoundSent,
  kRoundReceived,
  kListing,  // a second look (Listing)
  kOver,
};

// Returns whether what this side said last awaits an answer.
bool Awaits(Stage stage);
// Returns whether what the peer said last has to be answered, so that nothing
// may follow on it.
bool Answers(Stage stage);

// What else decides which messages may come.
struct StageFacts {
  bool whole_set = false;    // the rounds are of the whole set
  bool only = false;         // the batch is the only one
  bool works = false;        // something is shipped or listed
  bool may_be_pure = false;  // a search may tell elements by itself
  bool may_refine = false;   // a search in finer leaves may follow on this one
};
// Returns whether a message may follow on what was said last.
bool MayCome(Stage stage, const StageFacts& facts, MessageType type,
             uint8_t flags);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_STAGES_H_
