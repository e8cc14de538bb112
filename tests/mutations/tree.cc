#include "tests/mutations/tree.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tests/mutations/command.h"
#include "tests/support/file_content.h"

namespace rocksync::mutations {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes kBuildPatience{60};

bool Write(const fs::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  return out.good();
}

// Not sources, in the repository and in its copy.
bool IsOther(const fs::path& name) {
  return name == ".git" || name == "build" || name == ".cache";
}

// All files, by their path from `root`.
std::set<fs::path> FilesOf(const fs::path& root) {
  std::set<fs::path> files;
  for (auto it = fs::recursive_directory_iterator(root);
       it != fs::recursive_directory_iterator(); ++it) {
    if (it.depth() == 0 && IsOther(it->path().filename())) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file()) {
      files.insert(it->path().lexically_relative(root));
    }
  }
  return files;
}

}  // namespace

std::string Tree::Copy() {
  std::error_code error;
  fs::create_directories(copy_, error);
  if (error) return copy_.string() + ": " + error.message();
  const std::set<fs::path> wanted = FilesOf(sources_);
  for (const fs::path& file : FilesOf(copy_)) {
    if (wanted.count(file) == 0) fs::remove(copy_ / file, error);
  }
  for (const fs::path& file : wanted) {
    const fs::path to = copy_ / file;
    if (fs::exists(to) && FileContent(to) == FileContent(sources_ / file))
      continue;
    fs::create_directories(to.parent_path(), error);
    fs::copy_file(sources_ / file, to, fs::copy_options::overwrite_existing,
                  error);
    if (error) return to.string() + ": " + error.message();
  }
  return "";
}

std::string Tree::Mutate(const Mutation& mutation, bool dry) {
  std::map<fs::path, std::string> texts;
  for (const Edit& edit : mutation.edits) {
    const auto [text, first] = texts.try_emplace(edit.file);
    if (first) text->second = FileContent(sources_ / edit.file);
    const std::string wrong = Apply(edit, &text->second);
    if (!wrong.empty()) return wrong;
  }
  for (const auto& [file, text] : texts) {
    if (dry) continue;
    changed_.insert(file);
    if (!Write(copy_ / file, text)) return "cannot write " + file.string();
  }
  return "";
}

void Tree::Restore() {
  for (const fs::path& file : changed_) {
    Write(copy_ / file, FileContent(sources_ / file));
  }
  changed_.clear();
}

std::string Tree::Build(const std::set<std::string>& programs) {
  std::string output;
  if (!fs::exists(copy_ / "build/release/build.ninja")) {
    const End end =
        RunCommand({"cmake", "--preset", "release",
                    "-DROCKSYNC_WERROR=OFF"},  // unused things are likely
                   copy_, kBuildPatience, &output);
    if (end != End::kPassed) return output;
  }
  std::vector<std::string> command = {
      "cmake",
      "--build",
      "build/release",
      "-j",
      std::to_string(std::max(1u, std::thread::hardware_concurrency())),
      "--target"};
  command.insert(command.end(), programs.begin(), programs.end());
  const End end = RunCommand(command, copy_, kBuildPatience, &output);
  return end == End::kPassed ? "" : LastLines(output, 30);
}

}  // namespace rocksync::mutations
