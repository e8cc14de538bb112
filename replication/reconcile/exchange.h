// One reconciliation of two sets of element hashes: which of my elements does
// the peer lack? Sans-IO: payloads in, payloads out.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_H_
#define ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sketch/element/element.h"
#include "sketch/element/mapping.h"

namespace rocksync {

enum class ExchangeMode : uint8_t {
  kAdaptive = 0,  // the cost model chooses filters, sketches and their sizes
  kBloom = 1,     // distributed Bloom filters alone, as in the paper
};
enum class Prefer : uint8_t { kBytes = 0, kRoundTrips = 1 };

// Mode, prefer and false_positive_rate are agreed upon before: the responder
// refuses an initiator that has others.
struct ExchangeOptions {
  ExchangeMode mode = ExchangeMode::kAdaptive;
  Prefer prefer = Prefer::kBytes;
  // False positive rate of a filter in mode kBloom, in (0, 1).
  double false_positive_rate = 0.5;
  // What a pair offered in vain costs, in bytes: the model weighs it.
  double pair_bytes = 100;
  // About how many elements differ, if the caller knows (as it does after a
  // search for leaves, or for a retry); 0 if not. Sizes the initiator's first
  // sketch, or stands for its estimate.
  double expected_differences = 0;
  // Of these, about how many keys both sides hold with different elements, so
  // that each counts twice; 0 if the caller does not know of any.
  double expected_overwritten = 0;
  // It is not known how many differ, but more than a probe is made for.
  bool many_differ = false;
  // The standard error of both, as a share.
  double expected_error = 0.05;
  // What a difference that is left to the next exchange costs beside that
  // exchange, in bits, as where the leaves are searched again.
  double later_bits = 0;
  // Passes over a sketch that are aimed for; both sides have the same.
  uint32_t passes = 3;
  // After unequal digests: these are few, the last report's expected_left, and
  // ids and sketches are so ample that none should be left.
  bool retry = false;
  // Most bytes of one payload; larger filters travel in slices.
  size_t max_payload_bytes = size_t{1} << 20;
};

// About how much differs where it is not known yet; 0: unknown.
struct Expectation {
  double differences = 0;  // elements
  double overwritten = 0;  // keys that both sides hold, two elements each
};

// What the model predicted and what it cost, for people.
struct ExchangeReport {
  double estimated_differences = 0;
  double estimated_overwritten = 0;  // of a search for leaves: keys
  double predicted_bytes = 0;
  uint64_t filter_bytes = 0;  // both directions, as seen by this side
  uint64_t finish_bytes = 0;
  uint32_t retries = 0;      // groups whose sketch failed and was extended
  uint32_t unconfirmed = 0;  // answers that did not check and were dropped
  double expected_left = 0;  // differences probably hidden; see
                             // ExchangeOptions::expected_differences
  // Keys were found that have different elements, and it is known that about
  // expected_left elements were not: their keys, half as many, are alike.
  bool leaves_keys = false;
  std::string plan;  // readable, e.g. "filters 2+1, finish d~320"
};

// One line of a report: the plan, and predicted and actual bytes, e.g.
// "sketch of 3+13, estimate 1080, finish d~1080 in 62 groups of 24 bits, 20+4:
// 4312 B, 4167 B predicted". Nothing is predicted if the first sketch decodes.
std::string Explain(const ExchangeReport& report);

enum class Role : uint8_t { kInitiator, kResponder };

inline constexpr uint64_t kMaxExchangeElements = uint64_t{1} << 24;

// Grammar of use: ( NextPayload* Receive )* until done().
// The initiator speaks first. Not thread-safe. `mine` must outlive the
// exchange and must not change meanwhile.
//
// When done() on both sides, each side's missing_there() holds ordinals into
// its own `mine`: elements that the peer lacks. The answer may be wrong in
// both directions with small probability (an element hidden, or a false one):
// the caller compares digests afterwards and, if they differ, runs another
// exchange with a fresh seed.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Appends the next payload to `*out` and returns true, or returns false when
  // this side waits for the peer or is done.
  virtual bool NextPayload(std::string* out) = 0;

  // InvalidArgument names what is wrong with the payload; the exchange is then
  // of no more use. Sizes are bounded before anything is allocated.
  virtual absl::Status Receive(std::string_view payload) = 0;

  virtual bool done() const = 0;

  // Ordinals into `mine`, ascending, no duplicates. Valid once done().
  virtual const std::vector<uint32_t>& missing_there() const = 0;

  virtual const ExchangeReport& report() const = 0;
};

// `mine`: this side's elements, at most kMaxExchangeElements. `peer_count`: how
// many the peer said it holds (a claim: it sizes nothing beyond bounds that
// `mine` and max_payload_bytes set). `seed`: of this exchange's mappings, the
// same on both sides and never used for two exchanges. `positions`: of the
// elements' keys, one for each and in the same order, and like `mine` they must
// outlive the exchange; empty, on both sides, if what is exchanged has no keys.
// `own_count`: of `mine`, as the peer takes it, which may be off by a few; not
// in mode kBloom. All sizes that both sides have to know follow from the two
// counts; if one of them is 0, all elements of the other side are missing.
std::unique_ptr<Exchange> NewExchange(
    Role role, const ExchangeOptions& options, const MappingSeed& seed,
    std::span<const ElementHash> mine, uint64_t peer_count,
    std::span<const uint64_t> positions = {},
    std::optional<uint64_t> own_count = std::nullopt);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_H_
