// Syndromes of a Reed-Solomon code tell in which few places two sequences of
// symbols differ, and by what. PinSketch (power_sums.h) is the same for sets;
// here both sides know the places, so a difference costs two symbols however
// long an element's hash is.
//
// The sequence is cut into groups of equally many places, a power of two. With
// symbols v_i in GF(2^w) at the places i = 0, 1, ... of a group, syndrome j is
// the sum of v_i * (i + 1)^j. Syndromes add up: those of a difference are the
// sum (XOR) of both sides'.
//
// See Peterson and Weldon, "Error-Correcting Codes" (1972), chapter 9.

#ifndef ROCKSYNC_SKETCH_PINSKETCH_SYMBOL_SYNDROMES_H_
#define ROCKSYNC_SKETCH_PINSKETCH_SYMBOL_SYNDROMES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sketch/pinsketch/field.h"

namespace rocksync {

// Returns syndromes first .. first + count - 1 of every group, group after
// group. `group_places` divides symbols.size() and is below 2^w, as the symbols
// are. Takes about symbols.size() * count multiplications, or for a single
// group symbols.size() * (first + count) that are not reduced.
std::vector<uint32_t> SymbolSyndromes(const Field& field,
                                      std::span<const uint32_t> symbols,
                                      size_t group_places, uint32_t first,
                                      uint32_t count);

struct SymbolDifference {
  uint32_t place = 0;  // within its group
  uint32_t value = 0;  // not 0: the sum of both sides' symbols
  friend bool operator==(const SymbolDifference&,
                         const SymbolDifference&) = default;
};

// Decodes `syndromes` 0, 1, ... of the difference of one group of `places`
// places. If there are differences in at most half as many places with these
// syndromes, they are unique: sets `*differences` to them, by ascending place,
// and returns true. Returns false otherwise.
//
// The syndromes of more differences than that decode to wrong ones with a
// probability of about 1 / t! for 2 t syndromes; a pair of syndromes to spare
// lowers it to about 2^-2w.
//
// Takes about 4 t^2 + w t^2 / 2 multiplications.
bool DecodeSymbols(const Field& field, std::span<const uint32_t> syndromes,
                   size_t places, std::vector<SymbolDifference>* differences);

// The same where it is known of some places, `doubtful`, that they may differ:
// their differences take one syndrome each instead of two (errors and erasures;
// Forney, "On decoding BCH codes", 1965). Those at other places are found if
// they are at most half of the syndromes that remain. `doubtful` ascend;
// `*differences` has each of them, with value 0 if it does not differ after
// all. If there are fewer syndromes than doubtful places nothing is found.
//
// Takes about 3 T^2 multiplications for T syndromes, and those of
// DecodeSymbols for the T - doubtful.size() that remain.
bool DecodeSymbols(const Field& field, std::span<const uint32_t> syndromes,
                   size_t places, std::span<const uint32_t> doubtful,
                   std::vector<SymbolDifference>* differences);

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PINSKETCH_SYMBOL_SYNDROMES_H_
