// The format of a filter: padding, lines of 512 bits, a trailer. The normative
// text is docs/filter_format.md; this file is its only implementation.
//
// A key's 64-bit hash is an address (upper 32 bits) and a fingerprint (lower
// 24), never mixed. The address names two lines: the first anywhere, the second
// among the 16 that follow. The fingerprint names bits in each. Most of a key's
// bits are in its first line, so nearly all absent keys are refused after
// looking at one line. Yet the two lines fill up independently, which gives
// nearly the false positives of a Bloom filter that is not blocked.

#ifndef ROCKSYNC_PLUGIN_FILTER_FORMAT_H_
#define ROCKSYNC_PLUGIN_FILTER_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace rocksync {

constexpr size_t kFilterLineBytes = 64;
constexpr uint32_t kFilterLineBits = 512;
constexpr uint32_t kMaxFilterWindow = 4;  // log2 of lines
constexpr size_t kFilterTrailerBytes = 24;
constexpr uint32_t kMaxLineProbes = 8;
// The most lines: below 4 GiB, the most RocksDB allows a filter block.
constexpr uint32_t kMaxFilterLines = (uint32_t{1} << 26) - 1;

// Multipliers of the fingerprint, one per probe: the leading 24 fractional bits
// of the square roots of the first 16 primes, made odd. They stand in the upper
// bytes, so that a 32-bit product depends on nothing but the fingerprint. Probe
// i of the first line takes number i, of the second kMaxLineProbes + i.
alignas(64) inline constexpr uint32_t kProbeMultipliers[2 * kMaxLineProbes] = {
    0x6a09e700, 0xbb67af00, 0x3c6ef300, 0xa54ff500, 0x510e5300, 0x9b056900,
    0x1f83d900, 0x5be0cd00, 0xcbbb9d00, 0x629a2900, 0x91590100, 0x152fed00,
    0x67332700, 0x8eb44b00, 0xdb0c2f00, 0x47b54900};

// How many bits a key sets.
struct FilterProbes {
  uint32_t first = 0;   // in its first line, 1 to 8
  uint32_t second = 0;  // in its second, 1 to 8
};

// The layout of a filter, without its bits.
struct TableFilterShape {
  uint64_t seed = 0;        // of the keys' hashes
  uint32_t line_count = 0;  // 0: no key was added
  FilterProbes probes;
  uint32_t padding = 0;  // bytes before the first line, 0 to 63

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

// Returns log2 of the window: the second line is one of the 2^window that
// follow the first. There are up to 16, but never the first again if there are
// two or more lines. REQUIRES: line_count > 0.
inline uint32_t FilterWindow(uint32_t line_count) {
  uint32_t window = kMaxFilterWindow;
  while (window > 0 && (uint32_t{1} << window) >= line_count) --window;
  return window;
}

// Finds a key's lines. `window` is FilterWindow(line_count).
inline FilterLines LocateLines(uint64_t hash, uint64_t line_count,
                               uint32_t window) {
  // A 32.32 fixed-point product: its integer part is the first line, its
  // fraction chooses the distance to the second.
  const uint64_t place = (hash >> 32) * line_count;
  const uint64_t first = place >> 32;
  const uint64_t second = first + 1 + ((place & 0xffffffff) >> (32 - window));
  uint64_t wrapped;
  return {first, __builtin_sub_overflow(second, line_count, &wrapped)
                     ? second
                     : wrapped};
}

// Returns the bit that probe `number` means in its line, 0 to 511.
inline uint32_t ProbeBit(uint64_t hash, uint32_t number) {
  return (static_cast<uint32_t>(hash) * kProbeMultipliers[number]) >> 23;
}

// Writes the trailer of a filter to 24 bytes at `out`.
void EncodeFilterTrailer(const TableFilterShape& shape, char* out);

// Reads the trailer of a filter of `size` bytes at `data`, any alignment.
// Returns false if these bytes are not exactly one undamaged filter of this
// format; then *shape is unspecified. The lines themselves cannot be checked.
bool DecodeFilterTrailer(const char* data, size_t size,
                         TableFilterShape* shape);

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_FILTER_FORMAT_H_
