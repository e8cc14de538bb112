// Formats a count with its noun, as people read it.

#ifndef ROCKSYNC_TOOLS_WITH_NOUN_H_
#define ROCKSYNC_TOOLS_WITH_NOUN_H_

#include <cstdint>
#include <string>

namespace rocksync {

// Returns "1 pair", or "2 pairs". `noun` is the singular, and `plural` is
// needed unless it is that with an s.
inline std::string WithNoun(uint64_t count, const std::string& noun,
                            const std::string& plural = "") {
  std::string text = std::to_string(count) + " ";
  if (count == 1) return text + noun;
  return text + (plural.empty() ? noun + "s" : plural);
}

// Formats a count of an index's elements.
inline std::string CountedElements(uint64_t count) {
  return WithNoun(count, "pair or tombstone", "pairs and tombstones");
}

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_WITH_NOUN_H_
