// The machine's operations, each drawn at random.

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "rocksdb/utilities/checkpoint.h"
#include "tests/integration/directories/machine.h"

namespace rocksync::directories {

namespace fs = std::filesystem;

using rocksdb::Status;

// In the place of one that is not mounted, too.
void Machine::Create() {
  const std::string home = DrawHome();
  if (fs::exists(home + "/CURRENT")) return;
  const Database* hidden = nullptr;
  for (const auto& each : world_.databases()) {
    if (each->hidden_from == home) hidden = each.get();
  }
  Database* const database = world_.Add(home);
  Paths paths = database->paths;
  // With the options of who was there.
  if (hidden != nullptr && random_.OneIn(2)) {
    paths = hidden->paths;
  } else {
    paths = DrawPaths(nullptr, home, paths);
  }
  if (IsExcepted(nullptr, home, paths)) return world_.Forget(database);
  database->lost = true;  // so far
  Open(database, paths, /*must_open=*/false);
  if (database->lost) world_.Forget(database);
}

// In directories that nobody has: RocksDB asks nobody.
void Machine::CreatePlain() {
  const std::string home = DrawHome();
  if (fs::exists(home)) return;
  Database* const database = world_.Add(home);
  const Paths paths = DrawPaths(nullptr, home, database->paths);
  const std::string log = paths.wal.empty() ? home : paths.wal;
  std::vector<std::string> used = paths.All();
  used.push_back(log + "/archive");
  for (const std::string& path : used) {
    if (fs::exists(path) ||
        world_.UserOf(path, database, /*within=*/true) != nullptr) {
      return world_.Forget(database);
    }
  }
  if (IsWithinAnothers(database, paths)) return world_.Forget(database);
  for (const std::string& path : paths.All()) fs::create_directories(path);
  fs::create_directories(home);
  Say(database->name + " is made by RocksDB in " + Short(home) + ":" +
      Short(paths));
  database->paths = paths;
  WriteAsPlain(database);
}

// By its own program, without the library.
void Machine::WritePlain() {
  Database* const database = Pick();
  if (database == nullptr || database->replica || !database->live()) return;
  Say(database->name + " is opened by RocksDB");
  WriteAsPlain(database);
}

void Machine::WriteAsPlain(Database* database) {
  database->copied = false;
  Opened opened;
  const Status status = opened.Plain(database->home, database->paths);
  if (!status.ok())
    return Wrong("fails: " + database->name + ": " + Short(status.ToString()));
  Work(database, &opened);
  ExamineAll(nullptr);
}

void Machine::OpenTrue() {
  Database* const database = Pick();
  if (database == nullptr || !database->live()) return;
  Open(database, database->paths, database->settled);
}

void Machine::OpenOtherwise() {
  Database* const database = Pick();
  const Database* const other = Pick();
  if (database == nullptr || other == nullptr) return;
  Paths paths = DrawPaths(database, database->home, database->paths);
  if (other != database && random_.OneIn(2)) {
    paths.wal = other->paths.wal;
    paths.tables = other->paths.tables;
    paths.families["f"] = other->paths.families.at("f");
  }
  if (paths == database->paths || IsExcepted(database, database->home, paths)) {
    return;
  }
  Open(database, paths, /*must_open=*/false);
}

void Machine::CreateFamily() {
  Database* const database = Pick();
  if (database == nullptr || !database->settled || !database->replica) return;
  const std::string name =
      "g" + std::to_string(database->paths.families.size());
  const std::string path = DrawDirectory(database);
  Paths drawn;
  drawn.tables = path;
  if (IsExcepted(database, database->home, drawn)) return;
  Opened opened;
  const Status opens =
      opened.Replica(database->home, database->paths, false, false);
  if (!opens.ok()) {
    return Wrong("refused: " + database->name +
                 " was left alone: " + Short(opens.ToString()));
  }
  const Files before = world_.Read();
  fs::create_directories(fs::path(path).parent_path());
  Say(database->name + " creates family " + name +
      " with cf_paths=" + Short(path));
  const Status status = opened.CreateFamily(name, Spelled(path));
  if (!status.ok()) {
    Refused(status, before, database);
  } else {
    ++result_.accepted;
    if (!CheckIsFree(*database, path)) return;
    database->paths.families[name] = Resolved(path);
    database->pairs[name];
  }
  Work(database, &opened);
  if (result_.violation.empty()) ExamineAll(nullptr);
}

// The archive is two hours old.
void Machine::PurgeArchive() {
  Database* const database = Pick();
  if (database == nullptr || !database->settled || !database->replica) return;
  std::error_code error;
  for (const auto& file :
       fs::directory_iterator(database->Log() + "/archive", error)) {
    if (file.path().extension() != ".log") continue;
    fs::last_write_time(
        file, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  Open(database, database->paths, /*must_open=*/true, /*short_archive=*/true);
}

void Machine::Detach() {
  Database* const database = Pick();
  if (database == nullptr || !database->live() || !database->replica) return;
  Paths paths = database->paths;
  if (random_.OneIn(2)) paths = DrawPaths(database, database->home, paths);
  if (random_.OneIn(3)) paths.wal = database->home;  // as one says who knows
  if (IsExcepted(database, database->home, paths)) return;
  const Files before = world_.Read();
  Say(database->name + " is detached:" + Short(paths));
  const Status status = DetachPlain(Spelled(database->home), Spelled(paths));
  if (!status.ok()) {
    Refused(status, before, nullptr);
  } else {
    ++result_.accepted;
    // It has replayed the log into the directories that it was given.
    for (const std::string& path : paths.All()) {
      if (!CheckIsFree(*database, path)) return;
    }
    database->Take(paths);
    database->replica = false;
    database->settled = false;
    WriteAsPlain(database);
  }
  if (result_.violation.empty()) ExamineAll(nullptr);
}

// A copy of which a part was left behind, by the word of whoever made it.
void Machine::DetachIncomplete() {
  Database* const database = Pick();
  if (database == nullptr || database->live() || !database->replica ||
      !database->copied) {
    return;
  }
  Paths paths;
  paths.wal = database->home;
  for (const auto& [family, path] : database->paths.families) {
    paths.families[family] = "";
  }
  const Files before = world_.Read();
  Say(database->name + " is detached, with what there is of it");
  const Status status = DetachPlain(Spelled(database->home), Spelled(paths));
  if (!status.ok()) return Refused(status, before, nullptr);
  ++result_.accepted;
  database->Take(paths);
  database->lost = false;
  database->replica = false;
  database->settled = false;
  ExamineAll(nullptr);
}

// The copy's paths are still those of its original.
Database* Machine::CopyHome(const Database& from) {
  const std::string home = world_.Fresh("copy");
  World::Copy(from.home, home);
  Database* const to = world_.Add(home);
  const std::string name = to->name;
  *to = from;
  to->name = name;
  to->home = home;
  to->copy = from.replica;
  to->copied = true;
  to->settled = false;
  return to;
}

// As an administrator does who forgets that there is more.
void Machine::CopyAlone() {
  const Database* const from = Pick();
  if (from == nullptr || !from->live() || !IsAlone(*from)) return;
  Database* const to = CopyHome(*from);
  Say(from->name + " is copied to " + Short(to->home));
  Say("  as " + to->name);
  // Paths in it were copied with it.
  const auto moved = [&](std::string* path) {
    if (path->empty()) return;
    if (IsWithin(*path, from->home)) {
      *path = to->home + path->substr(from->home.size());
    } else {
      to->lost = true;
    }
  };
  moved(&to->paths.wal);
  moved(&to->paths.tables);
  for (auto& [family, path] : to->paths.families) moved(&path);
}

void Machine::CopyWhole() {
  const Database* const from = Pick();
  if (from == nullptr || !from->live() || !IsAlone(*from)) return;
  Database* const to = CopyHome(*from);
  std::map<std::string, std::string> copies;
  const auto copied = [&](std::string* path) {
    if (path->empty()) return;
    if (IsWithin(*path, from->home)) {
      *path = to->home + path->substr(from->home.size());
      return;
    }
    std::string& copy = copies[*path];
    if (copy.empty() && fs::exists(*path)) {
      copy = world_.Fresh("copied");
      World::Copy(*path, copy);
    }
    *path = copy;
  };
  copied(&to->paths.wal);
  copied(&to->paths.tables);
  for (auto& [family, path] : to->paths.families) copied(&path);
  Say(from->name + " is copied to " + Short(to->home) +
      " with all its files, as " + to->name + ":" + Short(to->paths));
}

// Which is nobody's then.
void Machine::CopyDirectory() {
  const Database* const from = Pick();
  if (from == nullptr || from->paths.All().empty()) return;
  const std::vector<std::string> all = from->paths.All();
  const std::string path = all[random_.Below(all.size())];
  const std::string to = world_.Fresh("directory");
  if (!fs::exists(path)) return;
  Say(Short(path) + " of " + from->name + " is copied to " + Short(to));
  World::Copy(path, to);
  Database* const database = Pick();
  if (database == nullptr || !database->live()) return;
  Paths paths = database->paths;
  switch (random_.Below(3)) {
    case 0:
      paths.wal = to;
      break;
    case 1:
      paths.tables = to;
      break;
    default:
      paths.families["f"] = to;
  }
  if (IsExcepted(database, database->home, paths)) return;
  Open(database, paths, /*must_open=*/false);
}

void Machine::MakeCheckpoint() {
  Database* const from = Pick();
  if (from == nullptr || !from->settled || !from->replica) return;
  const std::string home = world_.Fresh("checkpoint");
  Opened opened;
  const Status opens = opened.Replica(from->home, from->paths, false, false);
  if (!opens.ok()) {
    return Wrong("refused: " + from->name +
                 " was left alone: " + Short(opens.ToString()));
  }
  rocksdb::Checkpoint* raw = nullptr;
  Status status = rocksdb::Checkpoint::Create(opened.db(), &raw);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  if (status.ok()) {
    // With its log, or as tables.
    status = checkpoint->CreateCheckpoint(home, random_.OneIn(2) ? 0 : 1 << 30);
  }
  Say("a checkpoint of " + from->name + " in " + Short(home) + ": " +
      status.ToString());
  if (status.ok()) {
    Database* const to = world_.Add(home);
    to->paths.families.clear();
    for (const auto& [family, path] : from->paths.families) {
      to->paths.families[family] = "";
    }
    to->pairs = from->pairs;
    to->copy = true;
    to->replica = true;
  }
  Work(from, &opened);
  if (result_.violation.empty()) ExamineAll(nullptr);
}

void Machine::MoveHome() {
  const Database* const database = Pick();
  if (database == nullptr) return;
  const std::string to = world_.Fresh("moved");
  Say(database->name + " moves from " + Short(database->home) + " to " +
      Short(to));
  world_.Rename(std::string(database->home), to);
  ExamineAll(nullptr);
}

void Machine::MoveDirectory() {
  const Database* const database = Pick();
  if (database == nullptr || database->paths.All().empty()) return;
  const std::vector<std::string> all = database->paths.All();
  const std::string from = all[random_.Below(all.size())];
  if (!fs::exists(from)) return;
  const std::string to = world_.Fresh("directory");
  Say(Short(from) + " of " + database->name + " moves to " + Short(to));
  world_.Rename(from, to);
  ExamineAll(nullptr);
}

// Its disk is not mounted; those of its other directories are.
void Machine::Hide() {
  Database* const database = Pick();
  if (database == nullptr || !IsAlone(*database)) return;
  Say(database->name + " is not mounted");
  const bool settled = database->settled;
  const std::string from = database->home;
  world_.Rename(from, world_.Fresh("hidden"));
  database->hidden_from = from;
  database->settled = settled;
}

void Machine::BringBack() {
  Database* const database = Pick(/*hidden=*/true);
  if (database == nullptr || fs::exists(database->hidden_from)) return;
  Say(database->name + " comes back");
  const bool settled = database->settled;
  const std::string to = std::exchange(database->hidden_from, "");
  fs::create_directories(fs::path(to).parent_path());
  world_.Rename(std::string(database->home), to);
  database->settled = settled;
  if (database->live()) Open(database, database->paths, settled);
}

// Its other directories stay, or go with it.
void Machine::Remove() {
  Database* const database = Pick();
  if (database == nullptr || !IsAlone(*database)) return;
  const bool all = database->live() && random_.OneIn(2);
  Say(database->name + " is removed" + (all ? ", all of it" : ""));
  if (all) {
    for (const std::string& path : database->paths.All()) {
      if (world_.UserOf(path, database, /*within=*/true) == nullptr) {
        fs::remove_all(path);
      }
    }
  }
  fs::remove_all(database->home);
  world_.Forget(database);
  ExamineAll(nullptr);
}

}  // namespace rocksync::directories
