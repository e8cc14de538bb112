// A cost model of each way of reconciling, in bits on the wire, and the choices
// that follow. It is local arithmetic: nothing here has to agree between the
// two sides.

#ifndef ROCKSYNC_SKETCH_PLANNING_COST_MODEL_H_
#define ROCKSYNC_SKETCH_PLANNING_COST_MODEL_H_

#include <cstdint>

#include "sketch/pinsketch/keyed_set.h"

namespace rocksync {

// Returns the bits per element of a coded filter with one probe: with occupancy
// p = the false positive rate, m = n / -ln(1 - p) slots cost m * H(p) bits
// (Mitzenmacher 2001). Infinite for rates outside (0, 1).
double FilterBitsPerElement(double false_positive_rate);

// Returns that filter's slots for n elements.
uint64_t FilterSlots(uint64_t n, double false_positive_rate);

// Returns the slack: how many bits short ids have beyond log2 of the elements
// they must tell apart. An element is hidden, and another falsely offered, with
// probability 2^-slack per difference; `pair_bytes` says what the latter costs.
int ChooseSlack(double pair_bytes);

// Chooses ids for sets of at most `n` elements with `d` differences: groups of
// about 22 to 44 differences, or one group up to MaxSingleGroup(n) differences,
// which takes fewer bytes but n * d operations.
double MaxSingleGroup(uint64_t n);
IdShape ChooseIdShape(uint64_t n, double d, int slack);
IdShape SingleGroupShape(uint64_t n, int slack);

// Returns the expected bits of a sketch for `d` differences among `n`
// elements on each side, requests included.
double SketchBits(double n, double d, int slack);

// The rates that a plan chooses from are 2^-(code / 4); code 0 is no filter.
double RateFromCode(uint8_t code);
uint8_t RateCode(double rate);

// Returns the bits of coupled parities (coupled_parities.h) by which a side of
// `n` elements finds `missing` of them, 0 < missing <= kMaxParityShare * n,
// that the peer lacks, where the peer has `surplus` that are not among the n.
// It is the entropy of the missing ones, divided by the capacity of a cell of
// which `surplus` obscures the parity, times what belief propagation was
// measured to need above that, and a margin against chance.
inline constexpr double kMaxParityShare = 0.35;
double ParityBits(double n, double missing, double surplus);

// Returns the bits of one plane of parities of keys (CoupledMembers), where the
// planes below `plane` are decoded. `differing` of n keys have another element
// on the other side or none. Half of those not known by then show; for each
// known one it is open whether it does, which takes a bit. `surplus` are keys
// that only the other side has.
double KeyPlaneBits(double n, double differing, double surplus, uint32_t plane);

// A plan of filters before the sketch. A rate of 1 means no filter.
struct FilterPlan {
  double first_rate = 1;  // of the filter of the side that speaks first
  double bits = 0;        // of filters and the sketch
};

// Plans filters over a grid of rates. The first and the second side hold n1 and
// n2 elements, of which m1 and m2 are missing on the other side. The first
// side's filter finds the second's missing ones.
FilterPlan PlanFilters(double n1, double m1, double n2, double m2, int slack);

// Returns the best rate of one more filter of `n` elements, 1 if none pays. It
// finds missing elements among `m`; `m_other` stay open anyway.
double PlanLastFilter(double n, double m, double m_other, int slack);

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PLANNING_COST_MODEL_H_
