// The exchanges of one session, one after the other. Each has a mapping seed of
// its own, so that what one hides the next one finds.

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

// The mapping seed of a session's exchange of this number, from 0.
MappingSeed ExchangeSeed(const SessionSeed& seed, uint64_t exchange);

// How a search makes symbols of leaves (leaf_symbols.h).
struct SymbolKey {
  MappingKey key;
  int bits = kMinSymbolBits;
};

// What an exchange found: ordinals of this side's elements that the peer lacks,
// or probably lacks.
struct Candidates {
  std::vector<uint32_t> missing_there;
  bool exact = false;                   // hardly anything is hidden or in vain
  Expectation expected;                 // of a search: in these leaves
  std::vector<LeafDifference> by_leaf;  // of a search, if known
  bool one_sided = false;  // the peer has no element that is missing here
};

// Grammar of use:
//   ( ( Begin | BeginSearch ) ( Build | Receive )* ( TakeCandidates | Stop ) )*
class ExchangeSeries {
 public:
  // `report` must outlive it.
  ExchangeSeries(const ExchangeOptions& options, const SessionSeed& seed,
                 SessionReport* report)
      : options_(options), seed_(seed), report_(report), next_(options) {}

  // `mine` and `positions`, those of its keys if it has any, must outlive the
  // exchange. `again`: the exchange before was over these elements too, but for
  // what it found. `own_count`: see NewExchange.
  void Begin(Role role, std::span<const ElementHash> mine,
             std::span<const uint64_t> positions, uint64_t peer_count,
             bool again, std::optional<uint64_t> own_count = std::nullopt);
  // The exchange that the peer has begun is not joined.
  void Skip() { ++begun_; }
  // Of the next exchange: another search follows it, whatever it leaves.
  void ExpectSearch() { next_.passes = 1; }
  // Of the next exchange, which a search for leaves follows if it leaves
  // something.
  void ExpectFound(const Expectation& expected);
  // Of the next exchange: few, and none should be left.
  void ExpectFew(const Expectation& expected);
  // About how many elements the exchange before has hidden.
  double expected_left() const { return expected_left_; }
  // About in how many places elements are left by the exchange before, if it
  // was over keyed elements: two of one key are in one.
  double PlacesLeft() const {
    return leaves_keys_ ? expected_left_ / 2 : expected_left_;
  }
  // Of the next exchange, by an estimate or, `learned`, by what another like it
  // has found.
  void ExpectAbout(const Expectation& expected, bool learned);
  // Of the next exchange: see ExchangeOptions::many_differ.
  void ExpectMany();
  // Keys, of the elements that differed in the exchange before, and in those
  // that it came again after: 0 unless nearly all were overwritten.
  double overwritten_share() const { return overwritten_share_; }
  // PureLeaves the leaves that differ, but for those that are closed. The
  // candidates are leaves, and come on one side only; the other side stops.
  // `initiator`: its elements. `expected` and `most`: see LeafSearchOptions.
  // Not in mode Bloom.
  void BeginSearch(Role role, std::span<const Digest> leaves,
                   const std::vector<bool>& closed, uint64_t initiator,
                   double expected, double most);
  // Unless round trips matter, as its estimates are too coarse then.
  bool may_send_parities() const {
    return options_.mode == ExchangeMode::kAdaptive &&
           options_.prefer == Prefer::kBytes;
  }
  bool searches() const { return options_.mode == ExchangeMode::kAdaptive; }
  absl::Status Receive(std::string_view payload);
  void Build(Turn* turn);
  // Once, when the exchange is done; nullopt before.
  std::optional<Candidates> TakeCandidates();
  // The peer has found the leaves.
  void Stop();
  // Of the latest search, which has ended.
  const SymbolKey& symbol_key() const { return symbol_key_; }

 private:
  void Explain(const ExchangeReport& report);
  // Keeps what outlives the search that has ended.
  void EndSearch();

  const ExchangeOptions options_;
  const SessionSeed seed_;
  SessionReport* const report_;
  uint64_t begun_ = 0;
  ExchangeOptions next_;      // options_, and what is expected
  double expected_left_ = 0;  // differences the last one may have hidden
  bool leaves_keys_ = false;  // they are of overwritten keys
  double overwritten_share_ = 0;
  bool searched_ = false;  // so what an exchange leaves is searched for again
  std::unique_ptr<Exchange> exchange_;
  LeafSearch* search_ = nullptr;  // if exchange_ is one
  SymbolKey symbol_key_;
  std::optional<Candidates> known_;  // without an exchange
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_EXCHANGE_SERIES_H_
