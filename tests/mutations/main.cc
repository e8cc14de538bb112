// ./dev mutate: makes one small mistake after the other in a copy of the
// production code, and runs the machines that must notice. docs/testing.md says
// how to add one.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "nlohmann/json.hpp"
#include "tests/mutations/command.h"
#include "tests/mutations/finding.h"
#include "tests/mutations/mutation.h"
#include "tests/mutations/tree.h"
#include "tests/support/file_content.h"

namespace rocksync::mutations {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string sources = ".";
  std::string tree = "build/mutate";
  std::vector<std::string> only;
  std::string changed_since;
  uint32_t patience_s = 180;
  bool json = false;
  bool list = false;
  bool check = false;
};

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::string ProgramOf(const std::string& attempt) {
  return Words(attempt).front();
}

bool IsTest(const std::string& program) {
  constexpr std::string_view kEnd = "_test";
  return program.size() > kEnd.size() &&
         program.substr(program.size() - kEnd.size()) == kEnd;
}

// What became of one mutation.
struct Outcome {
  std::optional<std::string> caught_by;
  std::string error;  // the mutation itself is wrong
};

class Mutating {
 public:
  explicit Mutating(const Arguments& arguments)
      : arguments_(arguments), tree_(arguments.sources, arguments.tree) {}

  int Main() {
    const std::string wrong = Load();
    if (!wrong.empty()) return Complain(wrong);
    if (arguments_.list) return List();
    if (arguments_.check) return Check();
    return RunAll();
  }

 private:
  static int Complain(const std::string& what) {
    std::cerr << "mutate: " << what << "\n";
    return 2;
  }

  std::string Load() {
    std::vector<fs::path> lists;
    for (const auto& entry : fs::directory_iterator(
             fs::path(arguments_.sources) / "tests/mutations/list")) {
      lists.push_back(entry.path());
    }
    std::sort(lists.begin(), lists.end());
    for (const fs::path& list : lists) {
      const std::string wrong = ParseList(FileContent(list), &mutations_);
      if (!wrong.empty()) return list.string() + ": " + wrong;
    }
    return Choose();
  }

  std::string Choose() {
    const auto keep = [this](const auto& wanted) {
      mutations_.erase(
          std::remove_if(mutations_.begin(), mutations_.end(),
                         [&](const Mutation& m) { return !wanted(m); }),
          mutations_.end());
    };
    if (!arguments_.only.empty()) {
      const std::vector<std::string>& only = arguments_.only;
      keep([&](const Mutation& mutation) {
        return std::find(only.begin(), only.end(), mutation.name) != only.end();
      });
      if (mutations_.size() != only.size()) return "--only names none of them";
    }
    if (!arguments_.changed_since.empty()) {
      std::string files;
      if (RunCommand(
              {"git", "diff", "--name-only", arguments_.changed_since, "--"},
              arguments_.sources, std::chrono::seconds(60),
              &files) != End::kPassed) {
        return "git: " + files;
      }
      keep([&](const Mutation& mutation) {
        return std::any_of(mutation.edits.begin(), mutation.edits.end(),
                           [&](const Edit& edit) {
                             return files.find(edit.file) != std::string::npos;
                           });
      });
    }
    // What is compiled again for one mutation is not compiled for the next.
    std::stable_sort(mutations_.begin(), mutations_.end(),
                     [](const Mutation& a, const Mutation& b) {
                       return a.edits.front().file < b.edits.front().file;
                     });
    return "";
  }

  int List() const {
    for (const Mutation& mutation : mutations_) {
      std::printf("%-40s %s\n", mutation.name.c_str(), mutation.why.c_str());
    }
    return 0;
  }

  int Check() {
    int code = 0;
    for (const Mutation& mutation : mutations_) {
      const std::string wrong = tree_.Mutate(mutation, /*dry=*/true);
      if (!wrong.empty()) code = Complain(mutation.name + ": " + wrong);
    }
    if (code == 0) std::printf("%zu mutations apply\n", mutations_.size());
    return code;
  }

  int RunAll() {
    std::string wrong = tree_.Copy();
    if (wrong.empty()) wrong = RunUnmutated();
    if (!wrong.empty()) return Complain(wrong);
    size_t caught = 0;
    bool errors = false;
    for (const Mutation& mutation : mutations_) {
      const auto begin = std::chrono::steady_clock::now();
      const Outcome outcome = RunOne(mutation);
      tree_.Restore();
      caught += outcome.caught_by ? 1 : 0;
      errors |= !outcome.error.empty();
      Print(mutation, outcome, std::chrono::steady_clock::now() - begin);
    }
    std::fprintf(stderr, "mutate: %zu of %zu caught\n", caught,
                 mutations_.size());
    if (errors || !useless_.empty()) return 2;
    return caught == mutations_.size() ? 0 : 1;
  }

  // Who fails without any mutation does not count with one.
  std::string RunUnmutated() {
    std::set<std::string> programs;
    std::set<std::string> attempts;
    for (const Mutation& mutation : mutations_) {
      for (const std::string& attempt : mutation.tries) {
        programs.insert(ProgramOf(attempt));
        attempts.insert(attempt);
      }
    }
    std::fprintf(stderr, "mutate: building %zu programs without mutations\n",
                 programs.size());
    const std::string wrong = tree_.Build(programs);
    if (!wrong.empty()) return "without any mutation: " + wrong;
    for (const std::string& attempt : attempts) {
      std::string output;
      const End end = Try(attempt, &output);
      if (end == End::kPassed && !TestsNothing(output)) continue;
      Complain(attempt + (end == End::kPassed
                              ? " tests nothing"
                              : " fails without any mutation, and does not "
                                "count: " +
                                    FindingOf(output)));
      useless_.insert(attempt);
    }
    std::fprintf(stderr, "mutate: %zu of %zu commands pass without mutations\n",
                 attempts.size() - useless_.size(), attempts.size());
    return "";
  }

  Outcome RunOne(const Mutation& mutation) {
    Outcome outcome;
    outcome.error = tree_.Mutate(mutation, /*dry=*/false);
    for (const std::string& attempt : mutation.tries) {
      if (!outcome.error.empty() || outcome.caught_by) break;
      if (useless_.count(attempt) > 0) continue;
      outcome.error = tree_.Build({ProgramOf(attempt)});
      if (!outcome.error.empty()) break;
      std::string output;
      const End end = Try(attempt, &output);
      if (end == End::kFailed) {
        outcome.caught_by =
            ProgramOf(attempt) == attempt ||
                    output.find("[  FAILED  ]") != std::string::npos
                ? ProgramOf(attempt)
                : attempt;
        *outcome.caught_by += ": " + FindingOf(output);
      } else if (end == End::kHung && mutation.may_hang) {
        outcome.caught_by = "hang: " + attempt;
      } else if (end == End::kHung) {
        outcome.error = attempt + " hung, which is not foreseen";
      }
    }
    return outcome;
  }

  End Try(const std::string& attempt, std::string* output) {
    std::vector<std::string> command = Words(attempt);
    command[0] = fs::absolute(tree_.Program(command[0])).string();
    if (IsTest(command[0])) command.emplace_back("--gtest_fail_fast");
    return RunCommand(command, arguments_.tree,
                      std::chrono::seconds(arguments_.patience_s), output);
  }

  void Print(const Mutation& mutation, const Outcome& outcome,
             std::chrono::steady_clock::duration took) const {
    if (!outcome.error.empty()) {
      std::cerr << "mutate: " << mutation.name << ": " << outcome.error << "\n";
    }
    if (arguments_.json) {
      nlohmann::json line{{"mutation", mutation.name}, {"caught_by", nullptr}};
      if (outcome.caught_by) line["caught_by"] = *outcome.caught_by;
      if (!outcome.error.empty()) line["error"] = outcome.error;
      std::cout << line.dump(-1, ' ', false,
                             nlohmann::json::error_handler_t::replace)
                << std::endl;
      return;
    }
    std::printf("%-40s %5.0f s  %s\n", mutation.name.c_str(),
                std::chrono::duration<double>(took).count(),
                outcome.caught_by        ? outcome.caught_by->c_str()
                : !outcome.error.empty() ? "ERROR, see above"
                                         : "NOT CAUGHT");
    std::fflush(stdout);
  }

  const Arguments arguments_;
  Tree tree_;
  std::vector<Mutation> mutations_;
  std::set<std::string> useless_;  // commands that fail in any case
};

}  // namespace

int Main(int argc, char** argv) {
  CLI::App app(
      "Makes small mistakes in a copy of the production code and looks "
      "who notices",
      "mutate");
  Arguments arguments;
  app.add_option("--only", arguments.only, "names; may be repeated");
  app.add_option("--changed-since", arguments.changed_since,
                 "only mutations of files that differ from this revision");
  app.add_option("--patience", arguments.patience_s,
                 "seconds before a command counts as hung")
      ->capture_default_str();
  app.add_option("--sources", arguments.sources, "never changed")
      ->capture_default_str();
  app.add_option("--tree", arguments.tree, "the copy that is changed and built")
      ->capture_default_str();
  app.add_flag("--json", arguments.json,
               "a line for each: {\"mutation\", \"caught_by\"}");
  app.add_flag("--list", arguments.list, "their names and reasons");
  app.add_flag("--check", arguments.check,
               "only see that each of them still applies");
  CLI11_PARSE(app, argc, argv);
  return Mutating(arguments).Main();
}

}  // namespace rocksync::mutations

int main(int argc, char** argv) {
  return rocksync::mutations::Main(argc, argv);
}
