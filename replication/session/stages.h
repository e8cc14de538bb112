// The stages of a comparison as a table: what may come in each, and which part
// handles it. Pure.

#ifndef ROCKSYNC_REPLICATION_SESSION_STAGES_H_
#define ROCKSYNC_REPLICATION_SESSION_STAGES_H_

#include <cstdint>

#include "replication/session/messages.h"

namespace rocksync {

// A summary that was said awaits the peer's answer; one that was received is
// answered in this side's turn.
enum class Stage : uint8_t {
  // Of the whole sets: Summaries.
  kHelloSent,
  kHelloReceived,
  kTotalSent,
  kTotalReceived,
  // Which leaves differ, by an exchange over all of them or by a search:
  // LeafLocator.
  kLocating,
  kSearching,
  // The side that has the turn proposes what comes next: Batches or, after a
  // search, WholeSetRound.
  kChoosing,
  kBatchSent,  // Batches
  kBatchReceived,
  kPureLeavesSent,  // WholeSetRound
  kPureLeavesReceived,
  // The same where the side that proposes begins the exchange at once, and the
  // other one, for which it may be too much, takes none of it.
  kPureLeavesBegun,
  kPureLeavesRefused,
  // Rounds of either, and Summaries between them.
  kRound,
  kRoundSent,
  kRoundReceived,
  kListing,  // a second look: Listing
  kOver,
};

// What was said awaits an answer.
bool Awaits(Stage stage);
// What was received has to be answered, and nothing may follow on it.
bool Answers(Stage stage);

// What else matters of where the comparison is.
struct StageFacts {
  bool whole_set = false;  // the rounds are of the whole set
  bool only = false;       // the batch is the only one
  bool works = false;      // something is shipped or listed
  bool may_find = false;   // a search may tell elements by itself
};
// Whether a message may follow on what was said last.
bool MayCome(Stage stage, const StageFacts& terms, MessageType type,
             uint8_t flags);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_STAGES_H_
