#include "tests/integration/directories/world.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <system_error>

#include "tests/support/file_content.h"

namespace rocksync::directories {

namespace fs = std::filesystem;

namespace {

bool IsLog(const std::string& name) {
  return name == "LOCK" || name.starts_with("LOG");
}

// The regular files of one directory, by name.
Files FilesIn(const std::string& directory) {
  Files files;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(directory, error)) {
    const std::string name = file.path().filename();
    if (!file.is_regular_file(error) || IsLog(name)) continue;
    files[name] = FileContent(file.path());
  }
  return files;
}

void Write(const std::string& directory, const Files& files) {
  fs::create_directories(directory);
  for (const auto& [name, bytes] : files) {
    std::ofstream(directory + "/" + name, std::ios::binary) << bytes;
  }
}

// Changes if a file does.
std::string StateOf(const std::vector<std::string>& directories) {
  std::string state;
  for (const std::string& directory : directories) {
    std::error_code error;
    std::set<std::string> files;
    for (const auto& file : fs::directory_iterator(directory, error)) {
      struct stat found {};
      const std::string name = file.path().filename();
      if (IsLog(name) || ::stat(file.path().c_str(), &found) != 0) continue;
      files.insert(name + " " + std::to_string(found.st_size) + " " +
                   std::to_string(found.st_ino) + " " +
                   std::to_string(found.st_mtim.tv_sec) + "." +
                   std::to_string(found.st_mtim.tv_nsec));
    }
    state += directory + "\n";
    for (const std::string& file : files) state += file + "\n";
  }
  return state;
}

std::string Moved(const std::string& path, const std::string& from,
                  const std::string& to) {
  return IsWithin(path, from) ? to + path.substr(from.size()) : path;
}

}  // namespace

bool IsWithin(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

std::string Resolved(const std::string& path) {
  std::error_code error;
  std::string resolved = fs::weakly_canonical(path, error);
  while (resolved.size() > 1 && resolved.back() == '/') resolved.pop_back();
  return error ? path : resolved;
}

std::vector<std::string> Database::Directories() const {
  std::vector<std::string> all = paths.All();
  all.push_back(home);
  return all;
}

void Database::Take(const Paths& given) {
  const auto resolved = [](const std::string& path) {
    return path.empty() ? path : Resolved(path);
  };
  paths = given;
  paths.wal = resolved(paths.wal);
  paths.tables = resolved(paths.tables);
  for (auto& [family, path] : paths.families) path = resolved(path);
}

Database* World::Add(const std::string& home) {
  databases_.push_back(std::make_unique<Database>());
  Database* const added = databases_.back().get();
  added->name = "#" + std::to_string(++named_);
  added->first = added->name;
  added->home = home;
  added->paths.families = {{"default", ""}, {"f", ""}};
  return added;
}

void World::Forget(Database* database) {
  examined_.erase(database);
  std::erase_if(databases_, [&](const std::unique_ptr<Database>& each) {
    return each.get() == database;
  });
}

std::string World::Examine(Database* database) {
  const std::string state = StateOf(database->Directories());
  if (examined_[database] == state) return "";
  const std::string copy = scratch_ / "copy";
  fs::remove_all(copy);
  std::map<std::string, std::string> copies;
  for (const std::string& directory : database->Directories()) {
    const auto [place, is_new] = copies.try_emplace(
        directory, copy + "/" + std::to_string(copies.size()));
    if (is_new) Write(place->second, FilesIn(directory));
  }
  Paths paths = database->paths;
  const auto of_copy = [&](const std::string& path) {
    return path.empty() ? path : copies[path];
  };
  paths.wal = of_copy(paths.wal);
  paths.tables = of_copy(paths.tables);
  for (auto& [family, path] : paths.families) path = of_copy(path);
  Opened opened;
  Pairs pairs;
  rocksdb::Status status = opened.ReadOnly(copies[database->home], paths);
  if (status.ok()) status = opened.Read(paths, &pairs);
  if (!status.ok()) return "plain RocksDB says " + status.ToString();
  std::string said = Compare(database->pairs, pairs);
  if (said.empty()) examined_[database] = state;
  return said;
}

Files World::Read() const {
  Files files;
  std::error_code error;
  // The parents of files that come and go are not theirs.
  for (const auto& file : fs::recursive_directory_iterator(root_.path())) {
    if (!file.is_regular_file(error) || file.is_symlink(error) ||
        IsLog(file.path().filename())) {
      continue;
    }
    files[file.path()] = FileContent(file.path());
  }
  return files;
}

std::vector<std::string> World::Changed(const Files& before,
                                        const Files& after) {
  std::vector<std::string> changed;
  for (const auto& [path, bytes] : before) {
    const auto now = after.find(path);
    if (now == after.end() || now->second != bytes) changed.push_back(path);
  }
  for (const auto& [path, bytes] : after) {
    if (!before.contains(path)) changed.push_back(path);
  }
  return changed;
}

void World::Copy(const std::string& from, const std::string& to) {
  fs::copy(from, to,
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
}

void World::Rename(const std::string& from, const std::string& to) {
  fs::rename(from, to);
  for (const auto& each : databases_) {
    const Database before = *each;
    each->home = Moved(each->home, from, to);
    each->paths.wal = Moved(each->paths.wal, from, to);
    each->paths.tables = Moved(each->paths.tables, from, to);
    for (auto& [family, path] : each->paths.families) {
      path = Moved(path, from, to);
    }
    if (each->home != before.home || !(each->paths == before.paths)) {
      each->settled = false;
    }
  }
}

const Database* World::UserOf(const std::string& directory, const Database* but,
                              bool within) const {
  const std::string resolved = Resolved(directory);
  for (const auto& each : databases_) {
    if (each.get() == but || !each->live()) continue;
    for (const std::string& used : each->Directories()) {
      if (used == resolved || (within && IsWithin(used, resolved))) {
        return each.get();
      }
    }
  }
  return nullptr;
}

Image::Image(std::vector<std::string> directories) {
  for (const std::string& directory : directories) {
    for (const std::string& each : {directory, directory + "/archive"}) {
      if (fs::is_directory(each)) directories_[each] = FilesIn(each);
    }
  }
}

void Image::PutBack() const {
  for (const auto& [directory, files] : directories_) {
    for (const auto& [name, bytes] : FilesIn(directory)) {
      if (!files.contains(name)) fs::remove(directory + "/" + name);
    }
    Write(directory, files);
  }
}

}  // namespace rocksync::directories
