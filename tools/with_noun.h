// Numbers with their nouns, as people read them.

#ifndef ROCKSYNC_TOOLS_WITH_NOUN_H_
#define ROCKSYNC_TOOLS_WITH_NOUN_H_

#include <cstdint>
#include <string>

namespace rocksync {

// "1 pair", "2 pairs". `noun` in the singular; one with another plural than
// that with an s comes with it.
inline std::string WithNoun(uint64_t count, const std::string& noun,
                            const std::string& plural = "") {
  std::string text = std::to_string(count) + " ";
  if (count == 1) return text + noun;
  return text + (plural.empty() ? noun + "s" : plural);
}

// Of what an index has elements of.
inline std::string CountedElements(uint64_t count) {
  return WithNoun(count, "pair or tombstone", "pairs and tombstones");
}

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_WITH_NOUN_H_
