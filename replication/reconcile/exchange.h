// An exchange reconciles two sets of element hashes: it tells a replica which
// of its own elements the peer lacks. Sans-IO: payloads in, payloads out.

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

// Options of one side of an exchange. Both sides agree on mode, prefer and
// false_positive_rate beforehand: the responder refuses an initiator that has
// others.
struct ExchangeOptions {
  ExchangeMode mode = ExchangeMode::kAdaptive;
  Prefer prefer = Prefer::kBytes;
  // The false positive rate of a filter in mode kBloom, in (0, 1).
  double false_positive_rate = 0.5;
  // The cost, in bytes, of offering a pair in vain; the cost model weighs it.
  double pair_bytes = 100;
  // About how many elements differ, if the caller knows (as it does after a
  // search for leaves, or for a retry); 0 if not. It sizes the initiator's
  // first sketch, or stands for its estimate.
  double expected_differences = 0;
  // About how many keys, among these differences, both sides hold with
  // different elements, so that each counts twice; 0 if the caller knows of
  // none.
  double expected_overwritten = 0;
  // The number of differences is unknown, but a probe is too small for it.
  bool many_differ = false;
  // The relative standard error of both expectations.
  double expected_error = 0.05;
  // The cost, in bits, of a difference that is left to the next exchange,
  // beside that exchange itself, as where the leaves are searched again.
  double later_bits = 0;
  // The number of passes over a sketch to aim for. It should be the same on
  // both sides, or a pass more or less is made.
  uint32_t passes = 3;
  // This exchange follows one after which the digests were unequal: few
  // elements differ (the last report's expected_left), and ids and sketches are
  // so ample that none should be left.
  bool retry = false;
  // The most bytes of one payload; larger filters travel in slices.
  size_t max_payload_bytes = size_t{1} << 20;
};

// About how much two sets differ, before it is known; 0: unknown.
struct Expectation {
  double differences = 0;  // elements
  double overwritten = 0;  // keys that both sides hold, two elements each
};

// A report says, for people, what the model predicted and what it cost.
struct ExchangeReport {
  double estimated_differences = 0;
  double estimated_overwritten = 0;  // keys, by a search for leaves
  double predicted_bytes = 0;
  uint64_t filter_bytes = 0;  // both directions, as seen by this side
  uint64_t sketch_bytes = 0;
  uint32_t retries = 0;      // groups whose sketch failed and was extended
  uint32_t unconfirmed = 0;  // answers that did not check and were dropped
  double expected_left = 0;  // differences probably hidden; see
                             // ExchangeOptions::expected_differences
  // Overwritten keys were found, and about expected_left elements are known to
  // be left. They belong to half as many keys, all of them overwritten.
  bool leaves_keys = false;
  std::string plan;  // readable, e.g. "filters 2+1, sketch d~320"
};

// Returns a report as one line: the plan, and predicted and actual bytes, e.g.
// "sketch of 3+13, estimate 1080, sketch d~1080 in 62 groups of 24 bits, 20+4:
// 4312 B, 4167 B predicted". Nothing is predicted if the first sketch decodes.
std::string Explain(const ExchangeReport& report);

enum class Role : uint8_t { kInitiator, kResponder };

inline constexpr uint64_t kMaxExchangeElements = uint64_t{1} << 24;

// One side of an exchange. Grammar of use:
//   ( NextPayload* Receive )* until done()
// The initiator speaks first. Not thread-safe. `mine` must outlive the exchange
// and must not change meanwhile.
//
// When both sides are done(), each side's missing_there() holds ordinals into
// its own `mine`: elements that the peer lacks. The answer may be wrong in both
// directions with small probability (an element hidden, or a false one): the
// caller compares digests afterwards and, if they differ, runs another exchange
// with a fresh seed.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Appends the next payload to `*out` and returns true, or returns false when
  // this side waits for the peer or is done.
  virtual bool NextPayload(std::string* out) = 0;

  // Takes a payload of the peer. Returns InvalidArgument with what is wrong
  // with the payload; the exchange is then of no more use. Sizes are bounded
  // before anything is allocated.
  virtual absl::Status Receive(std::string_view payload) = 0;

  virtual bool done() const = 0;

  // Returns ordinals into `mine`, ascending, no duplicates. Valid once done().
  virtual const std::vector<uint32_t>& missing_there() const = 0;

  virtual const ExchangeReport& report() const = 0;
};

// Makes one side of an exchange. `mine` are this side's elements, at most
// kMaxExchangeElements. `peer_count` is how many the peer said it holds (a
// claim: it sizes nothing beyond bounds that `mine` and max_payload_bytes set).
// `seed` derives this exchange's mappings; it is the same on both sides and
// never used for two exchanges. `positions` are those of the elements' keys,
// one for each and in the same order; like `mine` they must outlive the
// exchange. They are empty, on both sides, if the elements have no keys.
// `own_count` is the size of `mine` as the peer takes it, which may be off by a
// few; mode kBloom ignores it.
//
// All sizes that both sides have to know follow from the two counts; if one of
// them is 0, all elements of the other side are missing.
std::unique_ptr<Exchange> NewExchange(
    Role role, const ExchangeOptions& options, const MappingSeed& seed,
    std::span<const ElementHash> mine, uint64_t peer_count,
    std::span<const uint64_t> positions = {},
    std::optional<uint64_t> own_count = std::nullopt);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_H_
