// One mutation: a small, plausible mistake in production code, and who is
// expected to notice. Lists of them are text files (tests/mutations/list/).

#ifndef ROCKSYNC_TESTS_MUTATIONS_MUTATION_H_
#define ROCKSYNC_TESTS_MUTATIONS_MUTATION_H_

#include <string>
#include <string_view>
#include <vector>

namespace rocksync::mutations {

struct Edit {
  std::string file;  // from the root of the sources
  std::string find;
  std::string replacement;
};

struct Mutation {
  std::string name;
  std::string why;
  std::vector<Edit> edits;
  // A program of the build and its arguments, separated by blanks; the cheapest
  // first.
  std::vector<std::string> tries;
  bool may_hang = false;  // then a time-out counts as caught
};

// Parses a list, whose grammar is in docs/testing.md. Returns "" or what is
// wrong, with its line.
std::string ParseList(std::string_view text, std::vector<Mutation>* mutations);

// Applies one edit to the text of its file. Where `find` has blanks and ends of
// lines, the text may have any, so that formatting does not matter; else it
// must be there once. Returns "" or what is wrong.
std::string Apply(const Edit& edit, std::string* text);

}  // namespace rocksync::mutations

#endif  // ROCKSYNC_TESTS_MUTATIONS_MUTATION_H_
