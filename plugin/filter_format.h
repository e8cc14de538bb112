// The bytes of a filter: padding, lines of 512 bits, a trailer. The normative
// text is docs/filter_format.md; this file is its only implementation.
//
// A key's 64-bit hash is an address (upper half) and a fingerprint (lower
// half), never mixed. The address names two lines: the first anywhere, the
// second among the 64 that follow. The fingerprint names bits in each. Half of
// a key's bits are in each line, so that most absent keys are refused after
// looking at one line, yet the two lines fill up independently, which gives
// nearly the false positives of a Bloom filter that is not blocked.

#ifndef ROCKSYNC_PLUGIN_FILTER_FORMAT_H_
#define ROCKSYNC_PLUGIN_FILTER_FORMAT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rocksync {

constexpr size_t kFilterLineBytes = 64;
constexpr uint32_t kFilterLineBits = 512;
constexpr uint32_t kMaxFilterWindow = 6;  // log2 of lines
constexpr size_t kFilterTrailerBytes = 24;
constexpr uint32_t kMaxProbes = 16;
constexpr uint32_t kSecondProbe = 8;  // number of the second line's first probe
// Below 4 GiB, the most RocksDB allows a filter block.
constexpr uint32_t kMaxFilterLines = (uint32_t{1} << 26) - 1;

// Multipliers of the fingerprint, one per probe: the leading 32 fractional bits
// of the square roots of the first 16 primes, made odd. Probes of the first
// line use numbers 0 to 7, of the second 8 to 15.
alignas(64) inline constexpr uint32_t kProbeMultipliers[kMaxProbes] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef373, 0xa54ff53b, 0x510e527f, 0x9b05688d,
    0x1f83d9ab, 0x5be0cd19, 0xcbbb9d5d, 0x629a292b, 0x9159015b, 0x152fecd9,
    0x67332667, 0x8eb44a87, 0xdb0c2e0d, 0x47b5481d};

// How a filter is laid out, without its bits.
struct FilterShape {
  uint64_t seed = 0;        // of the keys' hashes
  uint32_t line_count = 0;  // 0: no key was added
  uint32_t probes = 0;      // bits per key, 1 to 16
  uint32_t padding = 0;     // bytes before the first line, 0 to 63

  uint32_t first_probes() const { return (probes + 1) / 2; }
  uint32_t second_probes() const { return probes / 2; }
  size_t bytes() const {
    return padding + size_t{line_count} * kFilterLineBytes +
           kFilterTrailerBytes;
  }
};

// The lines of a key, as indices.
struct FilterLines {
  uint64_t first;
  uint64_t second;
};

// The second line is one of the 2^FilterWindow(line_count) that follow the
// first: up to 64, but never the first again if there are two. line_count > 0.
inline uint32_t FilterWindow(uint32_t line_count) {
  uint32_t window = kMaxFilterWindow;
  while (window > 0 && (uint32_t{1} << window) >= line_count) --window;
  return window;
}

// `window` is FilterWindow(line_count).
inline FilterLines LocateLines(uint64_t hash, uint64_t line_count,
                               uint32_t window) {
  // A 32.32 fixed-point product: its integer part is the first line, its
  // fraction chooses the distance to the second.
  const uint64_t place = (hash >> 32) * line_count;
  const uint64_t first = place >> 32;
  const uint64_t second = first + 1 + ((place & 0xffffffff) >> (32 - window));
  return {first, second < line_count ? second : second - line_count};
}

// The bit in its line, 0 to 511, of probe `number`.
inline uint32_t ProbeBit(uint64_t hash, uint32_t number) {
  return (static_cast<uint32_t>(hash) * kProbeMultipliers[number]) >> 23;
}

// Writes the trailer of a filter to 24 bytes at `out`.
void EncodeFilterTrailer(const FilterShape& shape, char* out);

// Reads the trailer of a filter of `size` bytes at `data`, any alignment.
// False if these bytes are not exactly one undamaged filter of this format;
// then *shape is unspecified. The lines themselves cannot be checked.
bool DecodeFilterTrailer(const char* data, size_t size, FilterShape* shape);

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_FILTER_FORMAT_H_
