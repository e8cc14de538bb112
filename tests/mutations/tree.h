// The copy of the sources that mutations are made in, and its build.

#ifndef ROCKSYNC_TESTS_MUTATIONS_TREE_H_
#define ROCKSYNC_TESTS_MUTATIONS_TREE_H_

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "tests/mutations/mutation.h"

namespace rocksync::mutations {

class Tree {
 public:
  // `sources` are only read.
  Tree(std::filesystem::path sources, std::filesystem::path copy)
      : sources_(std::move(sources)), copy_(std::move(copy)) {}

  // Makes the copy equal to the sources. Files that are equal stay untouched,
  // so that a build is incremental.
  std::string Copy();

  // Makes the edits, in the copy or, with `dry`, nowhere. "" or what is wrong.
  std::string Mutate(const Mutation& mutation, bool dry);
  // Takes back what Mutate did.
  void Restore();

  // Builds these programs. "" or the last lines of what the build said.
  std::string Build(const std::set<std::string>& programs);
  std::filesystem::path Program(const std::string& name) const {
    return copy_ / "build/release/bin" / name;
  }

 private:
  const std::filesystem::path sources_;
  const std::filesystem::path copy_;
  std::set<std::filesystem::path> changed_;
};

}  // namespace rocksync::mutations

#endif  // ROCKSYNC_TESTS_MUTATIONS_TREE_H_
