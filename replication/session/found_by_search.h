// What a search for leaves has found of the whole sets, as the two sides tell
// each other before a round over both sets (pure_leaves.h has the codings). The
// side that proposes the round knows the leaves that differ, has looked up its
// own elements in them, asks for those of the peer, and names the leaves that
// an exchange has to compare. The other side looks up what it is asked for;
// elements that it does not find are left to the exchange.

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

// The findings of one side. Grammar of use, for each search:
//   ( Propose ReceiveFailed? | Receive EncodeFailed? ) ( TakeElements | Drop )
class FoundBySearch {
 public:
  // All arguments must outlive this object.
  FoundBySearch(SessionSnapshot* snapshot, const Location* location,
                const ExchangeSeries* exchanges)
      : snapshot_(snapshot), location_(location), exchanges_(exchanges) {}

  // Proposes a round over the leaves that differ. Writes the body of the
  // message, which may be empty, to `*body`. Sets `*proposed` to false if an
  // exchange would compare more than `most` elements. `of_all`: the exchange
  // compares all these leaves, since an earlier search left leaves in which
  // more differs than their symbols tell.
  absl::Status Propose(const std::vector<LeafDifference>& differences,
                       bool of_all, uint64_t most, bool* proposed,
                       std::string* body);
  // Takes the peer's proposal, and looks up what it asks for.
  absl::Status Receive(std::string_view body);

  // True if the side that proposes begins the exchange, over the unknown
  // leaves, since no element is asked for. The other side's count is then a
  // guess, the same on both sides: peer_count() at the proposing side,
  // own_count() at the other.
  bool exchange_begins() const { return exchange_begins_; }
  // Returns the body of the answer if some elements were not found and an
  // exchange follows. The proposing side's count is then a guess, the same on
  // both sides: own_count() there, peer_count() here.
  std::string EncodeFailed() const;
  absl::Status ReceiveFailed(std::string_view body);

  // True if an exchange has to compare some leaves.
  bool exchange_follows() const { return !leaves_.empty(); }
  // Returns those leaves, and the leaves of elements that were asked for and
  // not found. Ascending.
  std::vector<uint32_t> LeavesToExchange() const;
  // True if all elements asked for were found, so that the peer knows
  // LeavesToExchange as well.
  bool all_were_found() const {
    return LeavesToExchange().size() == leaves_.size();
  }
  // The number of this side's elements in LeavesToExchange, if the peer goes by
  // a guess.
  const std::optional<uint64_t>& own_count() const { return own_count_; }
  // About what differs in LeavesToExchange.
  const Expectation& expected() const { return expected_; }

  // About how many leaves still differ after the round, because three differing
  // elements in a leaf looked like one.
  double leaves_left() const { return leaves_left_; }

  // The number of the peer's elements in LeavesToExchange.
  uint64_t peer_count() const { return peer_count_; }
  void set_peer_count(uint64_t count);

  // Returns the elements that were found here and that the peer lacks. Drops
  // the rest.
  std::vector<PlacedElement> TakeElements() {
    std::vector<PlacedElement> elements = std::move(elements_);
    Drop();
    return elements;
  }
  // Drops everything except peer_count() and leaves_left().
  void Drop();

 private:
  // Returns the range of leaves in messages.
  uint32_t Range() const;
  // Looks up what is asked for. What is not found joins the exchange, if there
  // is one, and is otherwise left to the comparison that follows.
  absl::Status LookUp(const std::vector<PureLeavesHead::Question>& asked);
  // Sets leaves_left_, if about `differing` leaves differ in all.
  void ExpectLeft(double differing);

  SessionSnapshot* const snapshot_;
  const Location* const location_;
  const ExchangeSeries* const exchanges_;
  std::vector<PlacedElement> elements_;
  std::vector<uint32_t> leaves_;  // unknown leaves, for an exchange
  std::vector<uint32_t> asked_;   // leaves in which one side asked the other
  std::vector<bool> failed_;      // which of asked_ join the exchange
  bool exchange_begins_ = false;
  std::optional<uint64_t> own_count_;
  uint64_t peer_count_ = 0;
  Expectation expected_;
  double leaves_left_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_FOUND_BY_SEARCH_H_
