#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/mutations/command.h"
#include "tests/mutations/finding.h"
#include "tests/mutations/mutation.h"
#include "tests/mutations/tree.h"
#include "tests/support/file_content.h"
#include "tests/support/temporary_directory.h"

namespace rocksync::mutations {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kList[] =
    "# A comment.\n"
    "[first]\n"
    "why: because\n"
    "file: a.cc\n"
    "- if (x)\n"
    "- return;\n"
    "+ // nothing\n"
    "- y = -1;\n"
    "+\n"
    "file: b.cc\n"
    "- z\n"
    "+ - z\n"
    "try: one_test --gtest_filter=A.B\n"
    "try: two_test\n"
    "\n"
    "[second]\n"
    "file: a.cc\n"
    "- q\n"
    "may hang\n"
    "try: one_test\n";

TEST(MutationList, IsParsed) {
  std::vector<Mutation> mutations;
  ASSERT_EQ(ParseList(kList, &mutations), "");
  ASSERT_EQ(mutations.size(), 2u);
  const Mutation& first = mutations[0];
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(first.why, "because");
  ASSERT_EQ(first.edits.size(), 3u);
  EXPECT_EQ(first.edits[0].find, "if (x)\nreturn;");
  EXPECT_EQ(first.edits[0].replacement, "// nothing");
  EXPECT_EQ(first.edits[1].find, "y = -1;");
  EXPECT_EQ(first.edits[1].replacement, "");
  EXPECT_EQ(first.edits[2].file, "b.cc");
  EXPECT_EQ(first.edits[2].replacement, "- z");
  EXPECT_THAT(first.tries,
              ElementsAre("one_test --gtest_filter=A.B", "two_test"));
  EXPECT_FALSE(first.may_hang);
  EXPECT_TRUE(mutations[1].may_hang);
}

TEST(MutationList, NamesTheLineThatIsWrong) {
  std::vector<Mutation> mutations;
  EXPECT_THAT(ParseList("try: x\n", &mutations), HasSubstr("line 1"));
  EXPECT_THAT(ParseList("[a]\nfile: f\n- x\n\n[b]\n", &mutations),
              HasSubstr("a is tried by nobody"));
  mutations.clear();
  EXPECT_THAT(ParseList("[a]\ntry: x\n", &mutations),
              HasSubstr("changes nothing"));
  mutations.clear();
  EXPECT_THAT(ParseList("[a]\n- x\n", &mutations), HasSubstr("line 2"));
  mutations.clear();
  EXPECT_THAT(ParseList("[a]\nfile: f\n- x\ntry: t\n[a]\n", &mutations),
              HasSubstr("twice"));
}

TEST(Edit, IsAppliedWhateverTheFormatting) {
  std::string text = "a;\n  if (x)\n    b;\nc;\n";
  EXPECT_EQ(Apply({"f", "if (x) b;", "d;"}, &text), "");
  EXPECT_EQ(text, "a;\n  d;\nc;\n");
}

TEST(Edit, IsAnErrorUnlessItsTextIsThereOnce) {
  std::string text = "a; b; a;";
  EXPECT_THAT(Apply({"f", "a;", ""}, &text), HasSubstr("more than once"));
  EXPECT_THAT(Apply({"f", "ab", ""}, &text), HasSubstr("not found"));
  EXPECT_EQ(text, "a; b; a;");
}

TEST(Tree, MutatesItsCopyAndTakesThatBack) {
  const TemporaryDirectory directory;
  const std::filesystem::path root = directory.path();
  std::filesystem::create_directories(root / "sources/build");
  std::ofstream(root / "sources/a.cc") << "one two";
  std::ofstream(root / "sources/build/b.cc") << "built";
  std::filesystem::create_directories(root / "copy");
  std::ofstream(root / "copy/gone.cc") << "was removed";
  Tree tree(root / "sources", root / "copy");
  ASSERT_EQ(tree.Copy(), "");
  EXPECT_FALSE(std::filesystem::exists(root / "copy/build"));
  EXPECT_FALSE(std::filesystem::exists(root / "copy/gone.cc"));

  const Mutation mutation{"m", "", {{"a.cc", "one", "three"}}, {}, false};
  ASSERT_EQ(tree.Mutate(mutation, /*dry=*/true), "");
  EXPECT_EQ(FileContent(root / "copy/a.cc"), "one two");
  ASSERT_EQ(tree.Mutate(mutation, /*dry=*/false), "");
  EXPECT_EQ(FileContent(root / "copy/a.cc"), "three two");
  EXPECT_EQ(FileContent(root / "sources/a.cc"), "one two");
  tree.Restore();
  EXPECT_EQ(FileContent(root / "copy/a.cc"), "one two");
}

TEST(Command, TellsFailuresFromHangs) {
  std::string output;
  const std::chrono::seconds patience(60);
  EXPECT_EQ(
      RunCommand({"sh", "-c", "echo a; echo b >&2"}, "/", patience, &output),
      End::kPassed);
  EXPECT_EQ(output, "a\nb\n");
  EXPECT_EQ(RunCommand({"sh", "-c", "exit 3"}, "/", patience, &output),
            End::kFailed);
  EXPECT_EQ(RunCommand({"sh", "-c", "kill -9 $$"}, "/", patience, &output),
            End::kFailed);
  EXPECT_EQ(
      RunCommand({"sleep", "1000"}, "/", std::chrono::seconds(0), &output),
      End::kHung);
}

TEST(Finding, IsTheTestOrTheViolation) {
  EXPECT_EQ(FindingOf("[  FAILED  ] A.B (3 ms)\n[  FAILED  ] C.D\n"), "A.B");
  EXPECT_EQ(FindingOf("1/3\n  violation: lost\n1 kill\n"), "lost");
  EXPECT_EQ(FindingOf("[ RUN      ] A.B\n[ RUN      ] C.D\n"), "C.D (it died)");
  EXPECT_EQ(FindingOf("x\nkilled\n\n"), "killed");
  EXPECT_TRUE(TestsNothing("[==========] 0 tests from 0 test suites ran."));
}

}  // namespace
}  // namespace rocksync::mutations
