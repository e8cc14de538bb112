// Coupled parities (sketch/parities/coupled_parities.h) as an exchange sends
// and decodes them. The first message has as many as a nearly one-sided
// difference needs. If the receiver finds that the sender has more elements of
// its own, further ones have as many as these call for.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_PARITIES_H_
#define ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_PARITIES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/reconcile/exchange_messages.h"
#include "sketch/element/element.h"
#include "sketch/parities/coupled_decoder.h"
#include "sketch/parities/coupled_parities.h"

namespace rocksync {

// The least lack (what one side has more than the other) for parities. With a
// smaller one, sketches cost little more and a small part of the CPU.
inline constexpr uint64_t kLeastLack = 300;

// How many elements can be read for the cost of a byte: some 10 microseconds of
// CPU, and a link of 1 Mbit/s takes 8 for a byte.
inline constexpr double kElementsPerByte = 64;

// Returns the bits of parities and of the sketch for what they leave. The
// sender has `mine` elements, the receiver `theirs`, which is more; `surplus`
// of the sender's are not among the receiver's. Infinite if parities are no
// choice: the sender lacks too few or too many elements, or the surplus is too
// large.
double ParityPlanBits(double mine, double theirs, double surplus, int slack);

// Returns whether parities, for which both sides read everything, save more
// bytes than their reading costs. The sets hold `less` and `more` elements in
// `leaves` leaves; a search for leaves would read only those that differ.
// Decided by the counts alone, as if all that differs were on one side.
bool ReadingAllSaves(double less, double more, double leaves);

class ParitySender {
 public:
  // REQUIRES: ParityPlanBits is finite.
  ParitySender(std::span<const ElementHash> elements,
               const std::vector<bool>& closed, const CoupledKeys& keys,
               double theirs, double surplus);

  // Returns the body of kParities. Called once.
  std::string First() const;
  // Makes the body of a kSplits for `surplus`, the receiver's estimate. Returns
  // false if these or any other parities would cost more than `other_bits`, or
  // cells cannot be split any more.
  bool Next(double surplus, double other_bits, int slack, std::string* body);

 private:
  const double mine_;
  const double theirs_;
  const CoupledParities parities_;
  uint32_t split_ = 0;
  int splits_ = 0;
};

class ParityReceiver {
 public:
  // Takes the body of kParities. `peer_count` is how many elements the peer
  // says it has. Cells are bounded by the elements of both sides and by the
  // bytes that are there before anything is allocated.
  absl::Status First(std::string_view body,
                     std::span<const ElementHash> elements,
                     const std::vector<bool>& closed, const CoupledKeys& keys,
                     uint64_t peer_count);
  // Takes the body of kSplits.
  absl::Status Next(std::string_view body);

  // Returns true if what was taken decodes, up to a few wrong judgements, which
  // the sketch finds. Then outcome() is valid. Otherwise surplus() is about how
  // many of the peer's elements are not here.
  bool decoded() const { return decoded_; }
  const CoupledDecoder::Outcome& outcome() const { return outcome_; }
  uint64_t surplus() const { return surplus_; }

 private:
  void Decode();

  std::unique_ptr<CoupledDecoder> decoder_;
  double mine_ = 0;
  double lack_ = 0;
  int splits_ = 0;
  double cells_ = 0;
  uint64_t surplus_ = 0;
  CoupledDecoder::Outcome outcome_;
  bool decoded_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_PARITIES_H_
