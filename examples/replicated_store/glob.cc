#include "examples/replicated_store/glob.h"

#include <cstddef>

namespace rocksync {
namespace {

// Whether `c` matches the pattern's item at `*at`, which is not a star; moves
// `*at` behind the item.
bool ItemMatches(std::string_view pattern, size_t* at, char c) {
  const auto byte = [](char b) { return static_cast<unsigned char>(b); };
  const char first = pattern[(*at)++];
  if (first == '?') return true;
  if (first == '\\' && *at < pattern.size()) return pattern[(*at)++] == c;
  if (first != '[') return first == c;

  const bool negated = *at < pattern.size() && pattern[*at] == '^';
  if (negated) ++*at;
  bool found = false;
  while (*at < pattern.size() && pattern[*at] != ']') {
    if (pattern[*at] == '\\' && *at + 1 < pattern.size()) ++*at;
    const char low = pattern[(*at)++];
    char high = low;
    if (*at + 1 < pattern.size() && pattern[*at] == '-' &&
        pattern[*at + 1] != ']') {
      high = pattern[*at + 1];
      *at += 2;
    }
    // Either order, as in Redis.
    found |= (byte(low) <= byte(c) && byte(c) <= byte(high)) ||
             (byte(high) <= byte(c) && byte(c) <= byte(low));
  }
  if (*at < pattern.size()) ++*at;  // ']'
  return found != negated;
}

}  // namespace

bool GlobMatches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  // The latest star, and where its match ends so far. Earlier stars need no
  // second look: the latest one can take whatever they could.
  size_t star = std::string_view::npos;
  size_t star_end = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      star_end = t;
      continue;
    }
    if (p < pattern.size() && ItemMatches(pattern, &p, text[t])) {
      ++t;
      continue;
    }
    if (star == std::string_view::npos) return false;
    p = star;
    t = ++star_end;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace rocksync
