// What the machine draws: databases, directories, options, and their names.

#include <algorithm>
#include <iterator>
#include <system_error>

#include "tests/integration/directories/machine.h"

namespace rocksync::directories {

namespace fs = std::filesystem;

namespace {

bool HoldsLog(const std::string& directory) {
  std::error_code error;
  for (const auto& file : fs::directory_iterator(directory, error)) {
    if (file.path().extension() == ".log") return true;
  }
  return false;
}

bool SharesTables(const Paths& paths, const Database& with) {
  const std::vector<std::string> theirs = with.Directories();
  const auto has = [&](const std::string& path) {
    return !path.empty() && std::find(theirs.begin(), theirs.end(),
                                      Resolved(path)) != theirs.end();
  };
  return has(paths.tables) ||
         std::any_of(paths.families.begin(), paths.families.end(),
                     [&](const auto& family) { return has(family.second); });
}

}  // namespace

Database* Machine::Pick(bool hidden) {
  std::vector<Database*> fitting;
  for (const auto& each : world_.databases()) {
    if (each->hidden_from.empty() != hidden) fitting.push_back(each.get());
  }
  return fitting.empty() ? nullptr : fitting[random_.Below(fitting.size())];
}

std::string Machine::DrawHome() {
  constexpr const char* kHomes[] = {"a",   "b",         "c",  "a/n",
                                    "b/m", "a/archive", "o1", "b/t"};
  return world_.At(kHomes[random_.Below(std::size(kHomes))]);
}

std::string Machine::DrawDirectory(const Database* of) {
  constexpr const char* kOutside[] = {"o1",  "o2",  "o3",        "o1/archive",
                                      "a/w", "a/t", "b/archive", "b/w/archive",
                                      "c/w", "b/t", "o2/deep"};
  const Database* const other = Pick();
  if (other != nullptr && other != of && random_.OneIn(3)) {
    std::vector<std::string> used = other->Directories();
    std::string drawn = used[random_.Below(used.size())];
    if (random_.OneIn(4)) drawn += "/archive";
    return drawn;
  }
  return world_.At(kOutside[random_.Below(std::size(kOutside))]);
}

// `paths`, with some that are drawn.
Paths Machine::DrawPaths(const Database* of, const std::string& home,
                         Paths paths) {
  const auto draw = [&](std::string* path) {
    if (!random_.OneIn(3)) return;
    *path = random_.OneIn(3) ? home + (random_.OneIn(2) ? "/w" : "/t")
                             : DrawDirectory(of);
  };
  draw(&paths.wal);
  draw(&paths.tables);
  draw(&paths.families["f"]);
  return paths;
}

std::string Machine::Spelled(const std::string& path) {
  if (path.empty() || !random_.OneIn(3)) return path;
  const std::string relative = path.substr(world_.root().size() + 1);
  for (const auto& [link, to] : kLinks) {
    if (relative == to && fs::exists(path) && random_.OneIn(2)) {
      return world_.At(link);
    }
  }
  switch (random_.Below(4)) {
    case 0:
      return relative;
    case 1:
      return "./" + relative;
    case 2:
      return path + "/";
    default:
      return world_.root() + "//./" + relative;
  }
}

// The directory itself is made by who opens.
void Machine::MakeAbove(const Paths& paths) {
  for (const std::string& path : paths.All()) {
    if (!random_.OneIn(8)) {
      fs::create_directories(fs::path(path).parent_path());
    }
  }
}

Paths Machine::Spelled(Paths paths) {
  paths.wal = Spelled(paths.wal);
  paths.tables = Spelled(paths.tables);
  for (auto& [family, path] : paths.families) path = Spelled(path);
  return paths;
}

// docs/operating.md, "Databases whose log or tables are elsewhere", at its end:
// nothing says whose the log of a plain database is, if a checkpoint, or a
// replica whose own log is gone, names it. (That a copy of all files in the
// original's path counts as the original is not drawn: copies and moves go to
// paths that nobody had.)
// Nor is it drawn that a plain database, or a copy that was not opened yet, is
// opened with another wal_dir, and no log there: nothing tells where its log
// is. Nor that a copy of a plain one, which nobody opened yet, gets what its
// original has: its MANIFEST is that one's. Nor the reverse.
bool Machine::IsExcepted(const Database* of, const std::string& home,
                         const Paths& paths) const {
  if (apart_ && IsWithinAnothers(of, paths)) return true;
  if (of != nullptr && of->settled) return false;
  const std::string wal = Resolved(paths.wal.empty() ? home : paths.wal);
  if (of != nullptr && of->copied &&
      (!of->replica ||
       (wal != of->Log() && of->Log() != of->home && !HoldsLog(wal)))) {
    return !(paths == of->paths);
  }
  if (of != nullptr && !of->replica && wal != of->Log() && !HoldsLog(wal)) {
    return true;
  }
  return std::any_of(world_.databases().begin(), world_.databases().end(),
                     [&](const auto& each) {
                       if (each.get() == of || each->replica) return false;
                       return wal == each->Log() ||
                              (of != nullptr && !of->replica &&
                               of->first == each->first &&
                               SharesTables(paths, *each));
                     });
}

bool Machine::IsWithinAnothers(const Database* of, const Paths& paths) const {
  for (const std::string& path : paths.All()) {
    const std::string used = Resolved(path);
    for (const auto& each : world_.databases()) {
      if (each.get() == of) continue;
      for (const std::string& theirs : each->Directories()) {
        if (used != theirs && IsWithin(used, theirs)) return true;
        if (used == theirs && used != each->home &&
            IsWithin(used, each->home)) {
          return true;
        }
      }
    }
  }
  return false;
}

bool Machine::IsAlone(const Database& database) const {
  return world_.UserOf(database.home, &database, /*within=*/true) == nullptr;
}

}  // namespace rocksync::directories
