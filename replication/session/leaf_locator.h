// Finds the leaves in which two sets differ, by an exchange over all leaves,
// and finds them again as long as the sets still differ.

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

// Locates the leaves that differ. Grammar of use, as often as needed:
//   ( Locate | Receive Answer ),
//   then TakeLeaves after each message of the exchange until it returns true,
//   or Stop
class LeafLocator {
 public:
  // Most locations of a session, those of both sides counted.
  static constexpr uint32_t kMaxLocations = 64;

  // `location` and `exchanges` must outlive this object.
  LeafLocator(const PartContext& context, Location* location,
              ExchangeSeries* exchanges)
      : context_(context), location_(location), exchanges_(exchanges) {}

  // The number of elements that the peer said it has.
  uint64_t peer_total() const { return peer_total_; }
  void set_peer_total(uint64_t elements) { peer_total_ = elements; }
  // The number of Locates said by either side.
  uint32_t locations() const { return locations_; }
  // Returns whether either side may say Locate once more.
  bool may_locate() const { return locations_ < kMaxLocations; }
  // While an exchange runs: true if it is a search, not one over hashes of
  // leaves.
  bool searching() const { return searching_; }

  // Returns whether sets that fit into one batch are compared by their leaves
  // all the same: both are large, a search finds small differences without
  // reading all elements, and reading all would not save more.
  bool SearchPays() const;

  // Says Locate. Begins an exchange and returns false, or takes all leaves for
  // different and returns true. `first`: it answers the initiator's Hello.
  // `expected`: about how many leaves differ, 0 if that is not known.
  bool Locate(bool first, double expected, Turn* turn);

  // After a search that took all leaves for different: returns how many bits
  // finer leaves should have, for a search that takes fewer bytes than an
  // exchange over all elements, and sets `*expected` to about how many differ.
  // Returns 0 if no search does, or memory does not suffice.
  int FinerBits(double* expected) const;
  // Says Locate, and begins a search in finer leaves. REQUIRES: the location
  // has these. `expected`: elements that differ.
  void LocateFiner(double expected, Turn* turn);
  // Reads the peer's Locate of that kind.
  absl::Status ReceiveFiner(std::string_view body, int* bits);
  // Returns whether leaves of so many bits are too many for this side.
  bool TooFine(int bits) const;
  // Begins the search, as its responder, or does not take part in it.
  void AnswerFiner() { BeginExchange(Role::kResponder, 0, /*finer=*/true); }
  void SkipFiner() { exchanges_->Skip(); }

  // Reads the peer's Locate, on which Answer acts. `first`: it answers this
  // side's Hello. A Locate that is refused is not counted.
  absl::Status Receive(std::string_view body, uint8_t flags, bool first,
                       bool* everything);
  void Answer(bool everything);

  // Returns true once the exchange is done: the location knows the leaves then.
  bool TakeLeaves();
  // Ends the search: the peer says which leaves it has found, or that there are
  // none. `batch`: those that it proposes first, ascending. If these are
  // neighbours, and many, all leaves count as found.
  void Stop(const std::vector<uint32_t>& batch = {});

  // Returns, once, by what the leaves of the search differ, if that is known.
  std::vector<LeafDifference> TakeDifferences() {
    return std::exchange(differences_, {});
  }

 private:
  // Returns whether so much differs, mostly on one side, that an exchange over
  // all elements saves more than a search for leaves saves reading.
  bool ReadingAllPays() const;
  bool TooLarge(uint64_t elements) const {
    return elements > context_.options->max_batch_elements;
  }
  uint64_t total() const { return location_->total().count; }
  void FindAll();
  void BeginExchange(Role role, double expected, bool finer = false);

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
