// Three replicas of a store diverge and heal, and are proven equal.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include "CLI/CLI.hpp"
#include "examples/demo/cluster.h"
#include "examples/demo/progress.h"
#include "examples/demo/report.h"
#include "examples/demo/story.h"
#include "rocksdb/status.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;
using rocksdb::Status;

constexpr size_t kReplicas = 3;
constexpr uint64_t kSyncIntervalMs = 1000;

// Tells our directories from those of others, which are not emptied.
constexpr char kMarker[] = "rocksync-demo";

Status MakeDirectory(std::string* directory) {
  std::error_code error;
  if (directory->empty()) {
    std::string pattern =
        (fs::temp_directory_path(error) / "rocksync-demo-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      return Status::IOError("cannot make a directory like", pattern);
    }
    *directory = pattern;
  } else if (fs::exists(fs::path(*directory) / kMarker, error)) {
    fs::remove_all(*directory, error);
  } else if (fs::exists(*directory, error) &&
             !fs::is_empty(*directory, error)) {
    return Status::InvalidArgument(*directory + " is not empty",
                                   "choose another --dir");
  }
  fs::create_directories(*directory, error);
  *directory = fs::absolute(*directory, error).string();
  if (!(std::ofstream(fs::path(*directory) / kMarker) << "may be removed\n")) {
    return Status::IOError("cannot write to", *directory);
  }
  return Status::OK();
}

// Returns once Enter was pressed; at once, if nobody is at a terminal.
void WaitForEnter(const char* prompt) {
  if (!::isatty(STDIN_FILENO)) return;
  std::fprintf(stderr, "%s, then press Enter ", prompt);
  int c = 0;
  do {
    c = std::getchar();
  } while (c != '\n' && c != EOF);
}

// Whoever is there shall have the page open before anything happens.
void WaitForReader(const std::string& page) {
  std::fprintf(stderr, "status page: http://%s/\n", page.c_str());
  WaitForEnter("open it");
}

// The page asks once a second, and has nobody to ask once the replicas are
// closed. An Enter too many before shall not keep the reader from seeing it.
void ShowEqual() {
  constexpr std::chrono::seconds kShown{5};
  std::fprintf(stderr,
               "the page shows the replicas equal, until they are closed for "
               "the comparison\n");
  std::this_thread::sleep_for(kShown);
  WaitForEnter("look at it");
}

// The store was built beside us.
std::string StoreProgram() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error)
      .replace_filename("replicated_store")
      .string();
}

}  // namespace
}  // namespace rocksync

int main(int argc, char** argv) {
  using namespace rocksync;

  CLI::App app(
      "Three replicas are loaded through their Redis ports; one is cut off "
      "while both sides change, returns, and heals. Then their databases are "
      "compared, key by key and value by value.");
  StoryOptions options;
  bool json = false;
  bool keep = false;
  bool page = false;
  std::string directory;
  std::string store = StoreProgram();
  app.add_option("--keys", options.keys, "Keys to load")
      ->capture_default_str()
      ->check(CLI::Range(100, 100'000'000));
  app.add_option("--changes", options.changes, "Changes on each of two sides")
      ->capture_default_str()
      ->check(CLI::Range(10, 100'000'000));
  app.add_option("--seed", options.seed, "Of keys, values and changes")
      ->capture_default_str();
  app.add_flag("--json", json,
               "End with one line of JSON; the rest goes to stderr");
  app.add_option("--dir", directory,
                 "Where the replicas write; default: a temporary directory");
  app.add_flag("--keep", keep, "Leave the directory behind");
  app.add_flag("--page", page,
               "Serve a status page while the demo runs; in a terminal, wait "
               "for Enter first, and again before the replicas are closed");
  app.add_option("--store", store, "The program replicated_store")
      ->check(CLI::ExistingFile);
  CLI11_PARSE(app, argc, argv);

  Report report;
  Status status = MakeDirectory(&directory);
  if (status.ok()) {
    std::FILE* const out = json ? stderr : stdout;
    Progress progress(out);
    Cluster cluster(store, directory, kReplicas);
    progress.Begin("Starting three replicas");
    status = cluster.Start(kSyncIntervalMs, page);
    if (status.ok()) {
      progress.End("redis-cli -p " + std::to_string(cluster.redis_port(0)) +
                   ", " + std::to_string(cluster.redis_port(1)) + ", " +
                   std::to_string(cluster.redis_port(2)));
      if (page) {
        WaitForReader(cluster.page(0));
        options.when_equal = ShowEqual;
      }
      status = TellStory(options, &cluster, &progress, &report);
    }
    if (status.ok()) PrintTable(report, out);
  }
  const bool good = status.ok() && report.converged && report.comparison.equal;
  if (!status.ok()) {
    std::fprintf(stderr, "\ndemo: %s\n", status.ToString().c_str());
  }
  if (json) std::printf("%s\n", FormatJson(report).c_str());
  std::error_code error;
  if (good && !keep) {
    std::filesystem::remove_all(directory, error);
  } else if (std::filesystem::exists(directory, error)) {
    std::fprintf(stderr, "what the replicas wrote is in %s\n",
                 directory.c_str());
  }
  return good ? 0 : 1;
}
