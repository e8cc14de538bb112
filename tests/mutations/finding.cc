#include "tests/mutations/finding.h"

#include <algorithm>

namespace rocksync::mutations {
namespace {

constexpr size_t kMaxBytes = 200;

// From `head` to the end of its line; "" if it is not there.
std::string LineAfter(const std::string& text, const std::string& head) {
  const size_t at = text.find(head);
  if (at == std::string::npos) return "";
  const size_t begin = at + head.size();
  return text.substr(begin,
                     std::min(text.find('\n', begin) - begin, kMaxBytes));
}

}  // namespace

std::string FindingOf(const std::string& output) {
  std::string finding = LineAfter(output, "[  FAILED  ] ");
  if (!finding.empty()) {
    return finding.substr(0, finding.find_first_of(" ,("));
  }
  finding = LineAfter(output, "violation: ");
  if (!finding.empty()) return finding;
  // It died in the last one that began.
  const size_t begun = output.rfind("[ RUN      ] ");
  if (begun != std::string::npos) {
    return LineAfter(output.substr(begun), "[ RUN      ] ") + " (it died)";
  }
  const size_t end = output.find_last_not_of('\n');
  if (end == std::string::npos) return "it said nothing";
  const size_t before = output.rfind('\n', end);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  return output.substr(begin, std::min(end + 1 - begin, kMaxBytes));
}

bool TestsNothing(const std::string& output) {
  return output.find("] 0 tests from 0 test suites ran") != std::string::npos;
}

}  // namespace rocksync::mutations
