#include "tests/integration/vectors/vector_document.h"

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace rocksync {
namespace {

// Appends what a line says, up to its remark. False: it is malformed.
bool AppendValue(absl::string_view text, std::string* bytes) {
  size_t at = 0;
  while (at < text.size() && text[at] != '#') {
    if (text[at] == ' ') {
      ++at;
    } else if (text[at] == '"') {
      const size_t end = text.find('"', at + 1);
      if (end == absl::string_view::npos) return false;
      absl::StrAppend(bytes, text.substr(at + 1, end - at - 1));
      at = end + 1;
    } else {
      if (at + 1 >= text.size() ||
          !std::isxdigit(static_cast<unsigned char>(text[at])) ||
          !std::isxdigit(static_cast<unsigned char>(text[at + 1]))) {
        return false;
      }
      absl::StrAppend(bytes, absl::HexStringToBytes(text.substr(at, 2)));
      at += 2;
    }
  }
  return true;
}

bool IsOnlyRemark(absl::string_view line) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(line);
  return text.empty() || text.front() == '#';
}

}  // namespace

absl::StatusOr<Vectors> ReadVectors(std::string_view document) {
  Vectors vectors;
  std::set<std::string> names;
  bool inside = false;  // of a block
  bool open = false;    // a vector that may go on
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(
           absl::string_view(document.data(), document.size()), '\n')) {
    ++number;
    const auto malformed = [&](absl::string_view why) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ", ", why, ": ", line));
    };
    if (absl::StartsWith(line, "```")) {
      inside = !inside && line == "```vectors";
      open = false;
      continue;
    }
    if (!inside || IsOnlyRemark(line)) continue;
    absl::string_view value = line;
    if (line.front() != ' ') {
      const std::vector<absl::string_view> parts =
          absl::StrSplit(line, absl::MaxSplits('=', 1));
      if (parts.size() != 2) return malformed("no '='");
      const std::string name(absl::StripAsciiWhitespace(parts[0]));
      if (!names.insert(name).second) return malformed("a second time");
      vectors.push_back({name, ""});
      open = true;
      value = parts[1];
    } else if (!open) {
      return malformed("goes on with nothing");
    }
    if (!AppendValue(value, &vectors.back().bytes)) {
      return malformed("neither hexadecimal nor a text");
    }
  }
  return vectors;
}

void CompareWithDocument(const Vectors& computed,
                         const std::function<bool(std::string_view)>& is_mine) {
  std::ostringstream document;
  document << std::ifstream(ROCKSYNC_TEST_VECTORS).rdbuf();
  const absl::StatusOr<Vectors> written = ReadVectors(document.str());
  ASSERT_TRUE(written.ok()) << written.status();
  std::map<std::string, std::string> left;
  for (const Vector& vector : *written) {
    if (is_mine(vector.name)) left[vector.name] = vector.bytes;
  }
  for (const Vector& vector : computed) {
    if (std::getenv("ROCKSYNC_VECTORS") != nullptr) {
      std::cout << LineOf(vector) << "\n";
    }
    const auto found = left.find(vector.name);
    if (found == left.end()) {
      ADD_FAILURE() << "the document lacks\n" << LineOf(vector);
      continue;
    }
    if (found->second != vector.bytes) {
      ADD_FAILURE() << "the document says\n"
                    << LineOf({found->first, found->second}) << "\ninstead of\n"
                    << LineOf(vector);
    }
    left.erase(found);
  }
  for (const auto& [name, bytes] : left) {
    ADD_FAILURE() << "the code knows nothing of\n" << LineOf({name, bytes});
  }
}

std::string LineOf(const Vector& vector) {
  return absl::StrCat(vector.name, " = ", absl::BytesToHexString(vector.bytes));
}

}  // namespace rocksync
