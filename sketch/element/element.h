// Elements are what reconciliation compares. An element stands for one version
// of one pair, as the leading 128 bits of a SHA-256 that is computed once, when
// the pair is written, and stored.

#ifndef ROCKSYNC_SKETCH_ELEMENT_ELEMENT_H_
#define ROCKSYNC_SKETCH_ELEMENT_ELEMENT_H_

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string_view>

#include "sketch/element/version.h"

namespace rocksync {

// The cryptographic hash of an element. `high` holds SHA-256's bytes 0..7 and
// `low` its bytes 8..15, both big-endian, so that the order of values is the
// order of bytes.
struct ElementHash {
  uint64_t high = 0;
  uint64_t low = 0;
  friend auto operator<=>(const ElementHash&, const ElementHash&) = default;
};

// A hash of a value's bytes, see ElementHasher::HashValue.
struct ValueHash {
  uint64_t high = 0;
  uint64_t low = 0;
  friend auto operator<=>(const ValueHash&, const ValueHash&) = default;
};

// A secret of 32 bytes shared by the members of a cluster, given at
// configuration and never sent. It keeps clients of the store from computing
// element hashes.
using ClusterSecret = std::array<uint8_t, 32>;

// Computes element hashes and index positions. Immutable after construction
// and safe to share between threads. Allocates nothing per call once a thread
// has made its first call.
class ElementHasher {
 public:
  explicit ElementHasher(const ClusterSecret& secret);
  ~ElementHasher();
  ElementHasher(const ElementHasher&) = delete;
  ElementHasher& operator=(const ElementHasher&) = delete;

  // Returns the XXH3-128 (seed 0) of a value that was written at an issued
  // version. The version tells writes apart, so this only has to catch
  // corruption.
  static ValueHash HashIssuedValue(std::string_view value);

  // Returns the hash of a value at any version. All unversioned pairs share
  // version 0, so only the value tells two of them apart there, and a client
  // that chooses the values must not be able to make two alike. So their hash
  // is SHA-256, cut to 128 bits, over
  //   "rocksync adopted value" | secret (32) | value.
  ValueHash HashValue(const Version& version, std::string_view value) const;

  // Returns the element of a live pair: SHA-256, cut to 128 bits, over
  //   secret (32) | length of family (4) | family | length of key (4) | key
  //   | version.time (8) | version.replica (8) | 0x01 | value hash (16),
  // integers big-endian.
  ElementHash HashPair(std::string_view family, std::string_view key,
                       const Version& version, const ValueHash& value) const;

  // Returns the element of a tombstone: that of a pair with 0x00 in place of
  // the last two parts.
  ElementHash HashTombstone(std::string_view family, std::string_view key,
                            const Version& version) const;

  // Returns the position of (family, key) in the index: a 64-bit XXH3 keyed by
  // material derived from the secret, the same on every replica of the cluster,
  // uniform, and never 0. Partitions are prefixes of it.
  uint64_t Position(std::string_view family, std::string_view key) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_ELEMENT_ELEMENT_H_
