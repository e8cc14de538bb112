// Where two sets differ: which leaves, found by an exchange over all of them,
// and found again while the sets differ still.

#ifndef ROCKSYNC_REPLICATION_SESSION_LEAF_LOCATOR_H_
#define ROCKSYNC_REPLICATION_SESSION_LEAF_LOCATOR_H_

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "replication/reconcile/exchange.h"
#include "replication/session/exchange_series.h"
#include "replication/session/location.h"
#include "replication/session/messages.h"
#include "replication/session/session_snapshot.h"
#include "replication/session/turn.h"

namespace rocksync {

// Grammar of use: ( Locate | Receive Answer ), then TakeLeaves after each
// message of the exchange until it says that the exchange is done, or Stop; all
// of that again.
class LeafLocator {
 public:
  // Of a session, by both sides.
  static constexpr uint32_t kMaxLocations = 64;

  // Both are used as long as this lives.
  LeafLocator(const PartContext& context, Location* location,
              ExchangeSeries* exchanges)
      : context_(context), location_(location), exchanges_(exchanges) {}

  // How many elements the peer said that it has.
  uint64_t peer_total() const { return peer_total_; }
  void set_peer_total(uint64_t elements) { peer_total_ = elements; }
  // Said by either side.
  uint32_t locations() const { return locations_; }
  // Whether either side may say Locate once more.
  bool may_locate() const { return locations_ < kMaxLocations; }
  // While an exchange runs: it searches, and exchanges no hashes of leaves.
  bool searching() const { return searching_; }

  // Whether sets that fit into one batch are compared by their leaves all the
  // same: both are large, a search finds small differences without reading all
  // of them, and reading all would not save more.
  bool SearchPays() const;

  // Begins an exchange, or says that all leaves are taken for different: true.
  // `first`: it answers the initiator's Hello. `expected`: about how many
  // leaves differ, 0 if that is not known.
  bool Locate(bool first, double expected, Turn* turn);

  // What the peer's Locate says; `first`: on our Hello. Nothing is changed if
  // it is refused.
  absl::Status Receive(std::string_view body, uint8_t flags, bool first,
                       bool* everything);
  void Answer(bool everything);

  // True once the exchange is done: the location knows the leaves.
  bool TakeLeaves();
  // The peer says which leaves it has found, or that there are none. `batch`:
  // those that it proposes first, ascending. If these are neighbours, and many,
  // all leaves count as found.
  void Stop(const std::vector<uint32_t>& batch = {});

  // Of the search, if they are known; once.
  std::vector<LeafDifference> TakeDifferences() {
    return std::exchange(differences_, {});
  }

 private:
  // What differs is on one side, mostly, and so much that an exchange over all
  // elements saves more than a search for leaves saves reading.
  bool ReadingAllPays() const;
  bool TooLarge(uint64_t elements) const {
    return elements > context_.options->max_batch_elements;
  }
  uint64_t total() const { return location_->total().count; }
  void FindAll();
  void BeginExchange(Role role, double expected);

  const PartContext context_;
  Location* const location_;
  ExchangeSeries* const exchanges_;
  uint64_t peer_total_ = 0;
  uint32_t locations_ = 0;
  bool searching_ = false;
  std::vector<LeafDifference> differences_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_LEAF_LOCATOR_H_
