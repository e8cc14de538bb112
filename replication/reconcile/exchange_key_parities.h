// Parities of keys (CoupledMembers in sketch/parities/coupled_parities.h) as an
// exchange sends and decodes them. Both sides know the key of an element that
// was replaced, so it is not two unknown elements but one of the receiver's
// keys, and each plane of parities shows half of those that are left.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_KEY_PARITIES_H_
#define ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_KEY_PARITIES_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sketch/element/element.h"
#include "sketch/element/mapping.h"
#include "sketch/parities/coupled_decoder.h"
#include "sketch/parities/coupled_parities.h"

namespace rocksync {

// About how two sides differ, by keys.
struct DifferingKeys {
  double differing = 0;  // the receiver's keys, of which the sender has another
                         // element or none
  double surplus = 0;    // the sender's keys that the receiver does not have
};

struct KeyParityPlan {
  uint32_t planes = 0;
  // Of the planes, and what finds the keys that do not show in any of them.
  // Infinite where parities of keys are no choice.
  double bits = std::numeric_limits<double>::infinity();
};
// The receiver has `n` keys. `slack`: of the ids of a later exchange.
// `later_bits`: what a key that is left to it costs beside.
KeyParityPlan PlanKeyParities(double n, const DifferingKeys& difference,
                              int slack, double later_bits);

// One side's elements and the positions of their keys, in the same order, and
// the seed of the exchange. Views.
struct KeyedElements {
  std::span<const ElementHash> elements;
  std::span<const uint64_t> positions;
  MappingSeed seed;
};

// Whether parities of keys over all n elements, for which both sides read
// everything, save more bytes than their reading costs, where a search for
// leaves would read those that differ: so many of them, with as many
// overwritten keys as chance makes of that.
bool ReadingAllKeysSaves(double n, double differing_leaves, double leaves);

// Elements that differ still when so many keys were found in so many planes:
// two for each key that showed in none, and the surplus.
double KeyElementsLeft(double found, uint64_t planes, double surplus);

class KeyParitySender {
 public:
  // The receiver has `theirs` keys.
  KeyParitySender(const KeyedElements& mine, double theirs)
      : mine_(mine), theirs_(theirs) {}

  // The body of the first kKeyParities, once: so many planes, at least one.
  // With `last` no more are meant to come.
  std::string First(const DifferingKeys& difference, uint32_t planes,
                    bool last);
  // The body of another one, for a difference that the receiver has told from
  // the first plane. Unless that has been `decoded` it is made larger, or
  // replaced where that is not enough. Planes follow up to so many in all.
  // False: that was tried too often.
  bool Next(const DifferingKeys& difference, bool decoded, uint32_t planes,
            std::string* body);
  double sent_bits() const { return sent_bits_; }

 private:
  // As many more cells of each segment of the first plane as it wants.
  uint32_t Split(const DifferingKeys& difference) const;
  void PutHead(const DifferingKeys& difference, bool last, uint32_t split,
               std::string* body) const;
  void AppendPlanes(const DifferingKeys& difference, uint32_t planes,
                    std::string* body);

  const KeyedElements mine_;
  const double theirs_;
  std::optional<CoupledParities> first_;
  uint32_t planes_ = 0;
  uint32_t split_ = 0;
  int attempts_ = 0;
  double sent_bits_ = 0;
};

class KeyParityReceiver {
 public:
  // `peer_count`: elements that the peer says it has.
  KeyParityReceiver(const KeyedElements& mine, uint64_t peer_count)
      : mine_(mine), peer_count_(peer_count) {}

  // Takes the body of a kKeyParities. Cells are bounded by the elements of both
  // sides and by the bytes that are there before anything is allocated.
  absl::Status Take(std::string_view body);

  // Whether the peer is to be told what was found: some planes are decoded, and
  // no more are to come. Else it is told about how many keys differ.
  bool complete() const { return decoded_ > 0 && !more_follows_; }
  uint32_t decoded() const { return decoded_; }
  uint64_t differing() const { return differing_; }
  // As the peer says: see DifferingKeys.
  double surplus() const { return surplus_; }
  // Ordinals of the elements whose keys differ, ascending.
  const std::vector<uint32_t>& found() const { return found_; }

 private:
  struct Plane {
    CoupledShape shape;
    std::string bits;
  };
  absl::Status ReceiveSplits(uint64_t count, std::string_view* body);
  absl::Status ReceivePlane(std::string_view* body);
  void Decode();
  bool DecodeFirst();
  bool DecodePlane(uint32_t plane);
  bool Add(const CoupledDecoder::Outcome& outcome);
  CoupledMembers Members(uint32_t plane) const;

  const KeyedElements mine_;
  const uint64_t peer_count_;
  std::unique_ptr<CoupledDecoder> first_;  // until that plane is decoded
  std::vector<Plane> planes_;
  int attempts_ = 0;
  bool more_follows_ = false;
  double surplus_ = 0;
  uint64_t differing_ = 0;
  uint32_t decoded_ = 0;
  std::vector<uint32_t> found_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_KEY_PARITIES_H_
