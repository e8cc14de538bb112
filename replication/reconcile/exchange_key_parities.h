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

// About how two sides differ, counted in keys.
struct DifferingKeys {
  double differing = 0;  // the receiver's keys, of which the sender has another
                         // element or none
  double surplus = 0;    // the sender's keys that the receiver does not have
};

struct KeyParityPlan {
  uint32_t planes = 0;
  // Bits of the planes, and of finding the keys that show in none of them.
  // Infinite if parities of keys are no choice.
  double bits = std::numeric_limits<double>::infinity();
};
// Plans how many planes to send to a receiver of `n` keys. `slack` is that of
// the ids of a later exchange, `later_bits` the additional cost of each key
// that is left to it.
KeyParityPlan PlanKeyParities(double n, const DifferingKeys& difference,
                              int slack, double later_bits);

// One side's elements and the positions of their keys, in the same order, and
// the seed of the exchange. Members are views.
struct KeyedElements {
  std::span<const ElementHash> elements;
  std::span<const uint64_t> positions;
  MappingSeed seed;
};

// Returns whether parities of keys over all n elements, for which both sides
// read everything, save more bytes than their reading costs. A search for
// leaves would read only the `differing_leaves`, taken to have as many
// overwritten keys as chance makes of that.
bool ReadingAllKeysSaves(double n, double differing_leaves, double leaves);

// Returns about how many elements still differ when so many keys were found in
// so many planes: two for each key that showed in none, and the surplus.
double KeyElementsLeft(double found, uint64_t planes, double surplus);

class KeyParitySender {
 public:
  // `theirs` is how many keys the receiver has.
  KeyParitySender(const KeyedElements& mine, double theirs)
      : mine_(mine), theirs_(theirs) {}

  // Returns the body of the first kKeyParities, with `planes` planes, at least
  // one. Called once. `last` says that no more are meant to come.
  std::string First(const DifferingKeys& difference, uint32_t planes,
                    bool last);
  // Makes the body of another kKeyParities, for a difference that the receiver
  // has told from the first plane. If that plane has not been `decoded` it is
  // made larger, or replaced where that is not enough. Further planes follow up
  // to `planes` in all. Returns false if this was tried too often.
  bool Next(const DifferingKeys& difference, bool decoded, uint32_t planes,
            std::string* body);
  double sent_bits() const { return sent_bits_; }

 private:
  // Returns how many more cells each segment of the first plane should split.
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
  // `peer_count` is how many elements the peer says it has.
  KeyParityReceiver(const KeyedElements& mine, uint64_t peer_count)
      : mine_(mine), peer_count_(peer_count) {}

  // Takes the body of a kKeyParities. Cells are bounded by the elements of both
  // sides and by the bytes that are there before anything is allocated.
  absl::Status Take(std::string_view body);

  // Returns true if the peer is to be told what was found: some planes are
  // decoded, and no more are to come. Otherwise the peer is to be told about
  // how many keys differ.
  bool complete() const { return decoded_ > 0 && !more_follows_; }
  uint32_t decoded() const { return decoded_; }
  uint64_t differing() const { return differing_; }
  // The peer's claim: see DifferingKeys.
  double surplus() const { return surplus_; }
  // Returns the ordinals of the elements whose keys differ, ascending.
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
  std::unique_ptr<CoupledDecoder> first_;  // until plane 0 is decoded
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
