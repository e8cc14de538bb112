// What RocksDB's newest OPTIONS file in a directory says.

#ifndef ROCKSYNC_TESTS_SUPPORT_OPTIONS_TEXT_H_
#define ROCKSYNC_TESTS_SUPPORT_OPTIONS_TEXT_H_

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "rocksync/replicated_db.h"
#include "tests/support/file_content.h"

namespace rocksync {

inline std::string OptionsText(const std::filesystem::path& directory) {
  std::filesystem::path newest;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    const std::string name = file.path().filename();
    const bool numbered =
        name.starts_with("OPTIONS-") && name.find('.') == std::string::npos;
    if (numbered && name > newest.filename().string()) newest = file.path();
  }
  return FileContent(newest);
}

// Lines of options, each behind its section, sorted; without the index's.
inline std::vector<std::string> ApplicationOptions(const std::string& text) {
  std::vector<std::string> options;
  std::istringstream in(text);
  std::string section;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("[")) {
      section = line;
    } else if (line.starts_with("  ") &&
               section.find(kIndexFamilyName) == std::string::npos) {
      options.push_back(section + line);
    }
  }
  std::sort(options.begin(), options.end());
  return options;
}

// Those that are in one of the two alone.
inline std::vector<std::string> OtherOptions(
    const std::vector<std::string>& left,
    const std::vector<std::string>& right) {
  std::vector<std::string> other;
  std::set_symmetric_difference(left.begin(), left.end(), right.begin(),
                                right.end(), std::back_inserter(other));
  return other;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_OPTIONS_TEXT_H_
