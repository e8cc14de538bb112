// Patterns as in Redis: * any bytes, ? one byte, [abc] [a-z] [^a-z] one of a
// set, \ takes the next byte literally.

#ifndef EXAMPLES_REPLICATED_STORE_GLOB_H_
#define EXAMPLES_REPLICATED_STORE_GLOB_H_

#include <string_view>

namespace rocksync {

// Whether all of `text` matches. At most pattern.size() * text.size() steps,
// whatever the pattern. An unclosed set ends with the pattern.
bool GlobMatches(std::string_view pattern, std::string_view text);

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_GLOB_H_
