// The exchanges of one session, one after the other. Each has a mapping seed of
// its own, so that an element that one exchange hides is found by the next.

#ifndef ROCKSYNC_REPLICATION_SESSION_EXCHANGE_SERIES_H_
#define ROCKSYNC_REPLICATION_SESSION_EXCHANGE_SERIES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/reconcile/exchange.h"
#include "replication/reconcile/leaf_search.h"
#include "replication/reconcile/leaf_symbols.h"
#include "replication/session/session.h"
#include "replication/session/turn.h"
#include "sketch/element/digest.h"
#include "sketch/element/element.h"
#include "sketch/element/mapping.h"

namespace rocksync {

// Returns the mapping seed of the session's exchange with this number, from 0.
MappingSeed ExchangeSeed(const SessionSeed& seed, uint64_t exchange);

// The key and size of the symbols of leaves in a search (leaf_symbols.h).
struct SymbolKey {
  MappingKey key;
  int bits = kMinSymbolBits;
};

// What an exchange found: ordinals of this side's elements that the peer lacks,
// or probably lacks.
struct Candidates {
  std::vector<uint32_t> missing_there;
  bool exact = false;    // hardly any is hidden or offered in vain
  Expectation expected;  // of a search: what differs in them
  std::vector<LeafDifference> by_leaf;  // of a search, if known
  bool one_sided = false;  // the peer has no element that is missing here
};

// Runs exchanges and searches for leaves. Grammar of use:
//   ( ( Begin | BeginSearch ) ( Build | Receive )* ( TakeCandidates | Stop ) )*
class ExchangeSeries {
 public:
  // `report` must outlive this object.
  ExchangeSeries(const ExchangeOptions& options, const SessionSeed& seed,
                 SessionReport* report)
      : options_(options), seed_(seed), report_(report), next_(options) {}

  // Begins an exchange. `mine` and `positions` (of the elements' keys, if they
  // have any) must outlive it. `again`: the previous exchange was over these
  // elements, too, except for what it found. `own_count`: see NewExchange.
  void Begin(Role role, std::span<const ElementHash> mine,
             std::span<const uint64_t> positions, uint64_t peer_count,
             bool again, std::optional<uint64_t> own_count = std::nullopt);
  // Skips the number of an exchange that the peer has begun and this side does
  // not join.
  void Skip() { ++begun_; }
  // Tells the next exchange that another search follows it, whatever it leaves.
  void ExpectSearch() { next_.passes = 1; }
  // Tells the next exchange what to expect, and that a search for leaves
  // follows if it leaves something.
  void ExpectFound(const Expectation& expected);
  // Tells the next exchange that little differs, and that none of it should be
  // left.
  void ExpectFew(const Expectation& expected);
  // About how many elements the previous exchange has hidden.
  double expected_left() const { return expected_left_; }
  // About at how many positions the previous exchange has left elements, if
  // those have keys: both elements of an overwritten key are at one position.
  double PlacesLeft() const {
    return leaves_keys_ ? expected_left_ / 2 : expected_left_;
  }
  // Tells the next exchange what to expect, by an estimate or, if `learned`, by
  // what a similar exchange has found.
  void ExpectAbout(const Expectation& expected, bool learned);
  // Sets ExchangeOptions::many_differ for the next exchange.
  void ExpectMany();
  // The number of overwritten keys as a share of the elements that differed in
  // the previous exchange, and in those that it repeated: 0 unless nearly all
  // were overwritten.
  double overwritten_share() const { return overwritten_share_; }
  // Begins a search for the leaves that differ, except closed ones. Its
  // candidates are leaves, and only one side gets them; the other side stops.
  // Sets what of `options` follows from those of the exchanges.
  // REQUIRES: not in mode kBloom.
  void BeginSearch(Role role, std::span<const Digest> leaves,
                   const std::vector<bool>& closed, LeafSearchOptions options);
  // True if parities may be sent: not if round trips matter, as the estimates
  // are too coarse then.
  bool may_send_parities() const {
    return options_.mode == ExchangeMode::kAdaptive &&
           options_.prefer == Prefer::kBytes;
  }
  bool searches() const { return options_.mode == ExchangeMode::kAdaptive; }
  absl::Status Receive(std::string_view payload);
  void Build(Turn* turn);
  // Returns the candidates, once, when the exchange is done; nullopt before.
  std::optional<Candidates> TakeCandidates();
  // Ends a search: the peer has found the leaves.
  void Stop();
  // The symbols' key of the latest search that has ended.
  const SymbolKey& symbol_key() const { return symbol_key_; }

 private:
  void Explain(const ExchangeReport& report);
  // Keeps what outlives the search, which has ended.
  void EndSearch();

  const ExchangeOptions options_;
  const SessionSeed seed_;
  SessionReport* const report_;
  uint64_t begun_ = 0;
  ExchangeOptions next_;      // options_, and what is expected
  double expected_left_ = 0;  // differences that the last one may have hidden
  bool leaves_keys_ = false;  // expected_left_ are of overwritten keys
  double overwritten_share_ = 0;
  bool searched_ = false;  // leaves were searched for, and will be again
  bool seem_overwritten_ = false;  // the keys behind the latest search
  std::unique_ptr<Exchange> exchange_;
  LeafSearch* search_ = nullptr;  // exchange_, if it is a search
  SymbolKey symbol_key_;
  std::optional<Candidates> known_;  // candidates known without an exchange
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_EXCHANGE_SERIES_H_
