// What a search for leaves has found of the whole sets, as the two sides tell
// each other before a round over both of them (pure_leaves.h has the codings).
// One side proposes: it knows the leaves that differ, has looked up its own
// elements in them, asks for those of the peer, and names leaves of which an
// exchange has to tell. The other one looks up what it is asked for; what it
// does not find joins the exchange.

#ifndef ROCKSYNC_REPLICATION_SESSION_FOUND_BY_SEARCH_H_
#define ROCKSYNC_REPLICATION_SESSION_FOUND_BY_SEARCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "replication/session/exchange_series.h"
#include "replication/session/leaf_batch.h"
#include "replication/session/location.h"
#include "replication/session/pure_leaves.h"
#include "replication/session/session_snapshot.h"

namespace rocksync {

// Grammar of use, for each search:
//   ( Propose ReceiveFailed? | Receive EncodeFailed? ) ( TakeElements | Drop )
class FoundBySearch {
 public:
  // They must outlive it.
  FoundBySearch(SessionSnapshot* snapshot, const Location* location,
                const ExchangeSeries* exchanges)
      : snapshot_(snapshot), location_(location), exchanges_(exchanges) {}

  // This side knows the leaves that differ. The body of the message that
  // proposes the round goes to `*body`; it may be empty. `*proposed` is false
  // if an exchange had to tell of more than `most` elements. `of_all`: it is to
  // tell of all leaves, as where another search has left those in which more
  // differs than it looks like.
  absl::Status Propose(const std::vector<LeafDifference>& differences,
                       bool of_all, uint64_t most, bool* proposed,
                       std::string* body);
  // The peer proposed. Looks up what it asks for.
  absl::Status Receive(std::string_view body);

  // The exchange compares the unknown leaves, since none is asked for: the side
  // that proposed begins it. The other one's count is a guess, the same on both
  // sides: peer_count() at the side that proposed, own_count() at the other.
  bool exchange_begins() const { return exchange_begins_; }
  // The answer, if some elements were not found and an exchange follows. The
  // count of the side that proposed is then a guess, the same on both sides:
  // own_count() there, peer_count() here.
  std::string EncodeFailed() const;
  absl::Status ReceiveFailed(std::string_view body);

  // An exchange has to tell of some leaves.
  bool exchange_follows() const { return !leaves_.empty(); }
  // They, and those of elements that were asked for and not found. Ascending.
  std::vector<uint32_t> LeavesToExchange() const;
  // The peer knows LeavesToExchange as well.
  bool all_were_found() const {
    return LeavesToExchange().size() == leaves_.size();
  }
  // This side's elements in them, where the peer goes by a guess.
  const std::optional<uint64_t>& own_count() const { return own_count_; }
  // What differs in them, about.
  const Expectation& expected() const { return expected_; }

  // About how many leaves differ still after the round, as three elements that
  // differ in one looked like one.
  double leaves_left() const { return leaves_left_; }

  // The peer's elements in these leaves.
  uint64_t peer_count() const { return peer_count_; }
  void set_peer_count(uint64_t count);

  // Those that were found here, and that the peer lacks. Nothing is found then.
  std::vector<PlacedElement> TakeElements() {
    std::vector<PlacedElement> elements = std::move(elements_);
    Drop();
    return elements;
  }
  // Other than what was said of the peer's elements.
  void Drop();

 private:
  // What is not found joins the exchange, if there is one. Else it is left to
  // the comparison that follows.
  absl::Status LookUp(const std::vector<PureLeavesHead::Question>& asked);
  // About so many leaves differ in all.
  void ExpectLeft(double differing);

  SessionSnapshot* const snapshot_;
  const Location* const location_;
  const ExchangeSeries* const exchanges_;
  std::vector<PlacedElement> elements_;
  std::vector<uint32_t> leaves_;  // an exchange has to tell
  std::vector<uint32_t> asked_;   // leaves in which one side asked the other
  std::vector<bool> failed_;      // of `asked_`: the exchange has to, too
  bool exchange_begins_ = false;
  std::optional<uint64_t> own_count_;
  uint64_t peer_count_ = 0;
  Expectation expected_;
  double leaves_left_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_FOUND_BY_SEARCH_H_
