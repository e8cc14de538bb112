// docs/test_vectors.md tells what the code does: each vector there is computed
// here, and each that is computed here stands there. Where that is not so, the
// line that should stand there is printed; ROCKSYNC_VECTORS=1 prints all.

#include "tests/integration/vectors/vectors.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/vectors/vector_document.h"

namespace rocksync {
namespace {

using testing::HasSubstr;

Vectors Computed() {
  Vectors vectors;
  AddElementVectors(&vectors);
  AddExchangeVectors(&vectors);
  AddConnectionVectors(&vectors);
  AddMessageVectors(&vectors);
  AddSessionVectors(&vectors);
  AddStreamVectors(&vectors);
  AddCloneVectors(&vectors);
  AddIndexVectors(&vectors);
  return vectors;
}

TEST(VectorsTest, TheDocumentTellsWhatTheCodeDoes) {
  CompareWithDocument(Computed(), [](std::string_view name) {
    return !absl::StartsWith({name.data(), name.size()}, "table_filter.");
  });
}

TEST(VectorsTest, ValuesAreHexadecimalAndTexts) {
  const absl::StatusOr<Vectors> vectors = ReadVectors(
      "a = 00\n```\nb = 00\n```\n"
      "```vectors\n"
      "c = 01 0203 \"xy\" 04  # a \"remark\"\n"
      "\n# another\n"
      "d =\n"
      "  05   # one\n"
      "  06\n"
      "e =\n"
      "```\n");
  ASSERT_TRUE(vectors.ok()) << vectors.status();
  ASSERT_EQ(vectors->size(), 3u);
  EXPECT_EQ(LineOf((*vectors)[0]), "c = 010203787904");
  EXPECT_EQ(LineOf((*vectors)[1]), "d = 0506");
  EXPECT_EQ(LineOf((*vectors)[2]), "e = ");
}

TEST(VectorsTest, WhatIsNoVectorIsNamed) {
  for (const char* line : {"a", "a = 0", "a = 0g", "a = \"x", "  01",
                           "b = 01\nb = 01", "b = 01\n```\n```vectors\n  02"}) {
    const absl::Status status =
        ReadVectors(std::string("```vectors\n") + line + "\n```\n").status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("line ")) << line;
  }
}

}  // namespace
}  // namespace rocksync
