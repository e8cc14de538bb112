// How `rocksync diff` and `rocksync verify` print a key that differs: one mark
// and one spelling of keys for both, on a terminal and as JSON. In JSON the
// kinds are words, those of KeyDifference::Kind:
//   <  missing_there   only on the left ("here")
//   >  missing_here    only on the right ("there")
//   !  version         on both, at different versions
//   ~  content         on both, with different values; of replicas: at one
//                      version

#ifndef ROCKSYNC_TOOLS_DIFFERENCE_LINE_H_
#define ROCKSYNC_TOOLS_DIFFERENCE_LINE_H_

#include <ostream>
#include <string_view>

namespace rocksync {

inline constexpr std::string_view kMissingThereWord = "missing_there";
inline constexpr std::string_view kMissingHereWord = "missing_here";
inline constexpr std::string_view kOtherVersion = "version";
inline constexpr std::string_view kOtherContent = "content";

inline char MarkOf(std::string_view kind) {
  return kind == kMissingThereWord  ? '<'
         : kind == kMissingHereWord ? '>'
         : kind == kOtherVersion    ? '!'
                                    : '~';
}

// MARK FAMILY KEY; names and keys are Readable (json.h). Without a key: MARK
// FAMILY, of a family that one side lacks.
inline void PrintDifference(std::ostream& out, std::string_view kind,
                            std::string_view family, std::string_view key) {
  out << MarkOf(kind) << " " << family;
  if (!key.empty()) out << " " << key;
  out << "\n";
}

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_DIFFERENCE_LINE_H_
