// Coupled parities (sketch/parities/coupled_parities.h) as an exchange sends
// and decodes them: first as many as a nearly one-sided difference needs, then,
// if the peer finds that the sender has more elements of its own, as many as
// these call for.

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

// With a smaller lack (what one side has more than the other), sketches cost
// little more and a small part of the CPU.
inline constexpr uint64_t kLeastLack = 300;

// The reading of so many elements costs as much as a byte: some 10
// microseconds of CPU, and a link of 1 Mbit/s takes 8.
inline constexpr double kElementsPerByte = 64;

// The sender has `mine` elements, the receiver `theirs`, more; `surplus` of the
// sender's are not among the receiver's. Bits of parities and of the finish for
// what they leave; infinite where parities are no choice: too few or too many
// elements are missing here, or the surplus is too large.
double ParityPlanBits(double mine, double theirs, double surplus, int slack);

// Whether parities, for which both sides read everything, save more bytes than
// their reading costs, where the sets hold `less` and `more` elements in
// `leaves` leaves and a search for leaves would read those that differ. By the
// counts alone, so as if what differs were all on one side.
bool ReadingAllSaves(double less, double more, double leaves);

class ParitySender {
 public:
  // REQUIRES: ParityPlanBits is finite.
  ParitySender(std::span<const ElementHash> elements,
               const std::vector<bool>& closed, const CoupledKeys& keys,
               double theirs, double surplus);

  // The body of kParities; once.
  std::string First() const;
  // The body of a kSplits for this surplus, as the receiver estimates it.
  // False: these or any other parities would cost more than `other_bits`.
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
  // Takes the body of kParities. `peer_count`: elements that the peer says it
  // has. Cells are bounded by the elements of both sides and by the bytes that
  // are there before anything is allocated.
  absl::Status First(std::string_view body,
                     std::span<const ElementHash> elements,
                     const std::vector<bool>& closed, const CoupledKeys& keys,
                     uint64_t peer_count);
  // Takes the body of kSplits.
  absl::Status Next(std::string_view body);

  // Whether what was taken decodes, up to a few wrong judgements, which the
  // finish finds; then `outcome()`, else `surplus()`: of the peer's elements,
  // about how many are not here.
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
