#include "tests/integration/directories/machine.h"

#include <algorithm>
#include <utility>

namespace rocksync::directories {

namespace fs = std::filesystem;

using rocksdb::Status;

Machine::Machine(uint64_t seed, const fs::path& parent, bool apart)
    : apart_(apart), random_(seed), world_(parent) {
  fs::current_path(world_.root());
  for (const auto& [link, to] : kLinks) {
    fs::create_directory_symlink(to, world_.At(link));
  }
}

MachineResult Machine::Run(uint64_t operations) {
  const std::pair<Operation, uint64_t> kinds[] = {
      {&Machine::Create, 6},           {&Machine::CreatePlain, 3},
      {&Machine::OpenTrue, 6},         {&Machine::OpenOtherwise, 12},
      {&Machine::WritePlain, 2},       {&Machine::CreateFamily, 4},
      {&Machine::PurgeArchive, 3},     {&Machine::Detach, 3},
      {&Machine::DetachIncomplete, 2}, {&Machine::CopyAlone, 3},
      {&Machine::CopyWhole, 2},        {&Machine::CopyDirectory, 2},
      {&Machine::MakeCheckpoint, 2},   {&Machine::MoveHome, 2},
      {&Machine::MoveDirectory, 2},    {&Machine::Hide, 2},
      {&Machine::BringBack, 2},        {&Machine::Remove, 1}};
  uint64_t weights = 0;
  for (const auto& [kind, weight] : kinds) weights += weight;
  while (result_.operations < operations && result_.violation.empty()) {
    uint64_t drawn = random_.Below(weights);
    for (const auto& [kind, weight] : kinds) {
      if (drawn < weight) {
        try {
          (this->*kind)();
        } catch (const fs::filesystem_error& error) {
          Wrong("machine: " + Short(error.what()));
        }
        break;
      }
      drawn -= weight;
    }
    ++result_.operations;
  }
  if (result_.violation.empty()) OpenAll();
  fs::current_path("/");
  return std::move(result_);
}

// Who was hidden comes back where nobody took its place. All that the library
// has seen where it is opens, and holds its pairs.
void Machine::OpenAll() {
  for (size_t i = 0; i < world_.databases().size(); ++i) {
    Database* const database = world_.databases()[i].get();
    if (!result_.violation.empty()) return;
    if (!database->hidden_from.empty()) {
      if (fs::exists(database->hidden_from)) continue;
      Say(database->name + " comes back to " + Short(database->hidden_from));
      const std::string to = std::exchange(database->hidden_from, "");
      const bool settled = database->settled;
      fs::create_directories(fs::path(to).parent_path());
      world_.Rename(std::string(database->home), to);
      database->settled = settled;
    }
    if (database->live()) Open(database, database->paths, database->settled);
  }
}

void Machine::Refused(const Status& status, const Files& before,
                      const Database* own) {
  ++result_.refused;
  Say("  refused: " + Short(status.ToString()));
  ExamineAll(own);  // its files change meanwhile
  const Files after = world_.Read();
  for (const std::string& path : World::Changed(before, after)) {
    const fs::path directory = fs::path(path).parent_path();
    const auto now = after.find(path);
    if (own != nullptr) {
      const std::vector<std::string> mine = own->Directories();
      if (std::find(mine.begin(), mine.end(), directory) != mine.end() ||
          directory == own->Log() + "/archive") {
        continue;
      }
    }
    return Wrong("written: a refused operation has " +
                 std::string(now == after.end()      ? "removed "
                             : before.contains(path) ? "changed "
                                                     : "made ") +
                 Short(path));
  }
}

void Machine::Open(Database* database, const Paths& paths, bool must_open,
                   bool short_archive) {
  const bool copy_as_new = database->copy && (must_open || !random_.OneIn(4));
  MakeAbove(paths);
  const Files before = world_.Read();
  const Paths spelled = Spelled(paths);
  const std::string home = Spelled(database->home);
  Say(database->name + " opens in " + Short(home) + ":" + Short(spelled) +
      (copy_as_new ? ", as a new replica" : "") +
      (short_archive ? ", WAL_ttl_seconds=1" : ""));
  Opened opened;
  const Status status =
      opened.Replica(home, spelled, copy_as_new, short_archive);
  if (!status.ok()) {
    Refused(status, before, nullptr);
    if (must_open) {
      Wrong("refused: " + database->name + " was left alone");
    }
  } else {
    Accepted(database, paths, &opened);
  }
  if (result_.violation.empty()) ExamineAll(nullptr);
}

void Machine::Accepted(Database* database, const Paths& paths, Opened* opened) {
  ++result_.accepted;
  Pairs pairs;
  const Status status = opened->Read(paths, &pairs);
  if (!status.ok()) {
    return Wrong("own: " + database->name +
                 " opened, and does not read: " + status.ToString());
  }
  const std::string differs =
      database->live() ? Compare(database->pairs, pairs) : "";
  if (!differs.empty()) {
    return Wrong("own: " + database->name + " opened, and:" + differs);
  }
  for (const std::string& path : paths.All()) {
    if (!CheckIsFree(*database, path)) return;
  }
  database->pairs = std::move(pairs);
  database->Take(paths);
  database->replica = true;
  database->settled = true;
  database->copy = false;
  database->copied = false;
  database->lost = false;
  Work(database, opened);
}

// Of a copy's own directories nothing tells that they are not the original's,
// until the copy was opened; unless they are in the directory that was copied.
// If another one takes them then, nothing is known of the copy any more.
bool Machine::CheckIsFree(const Database& database, const std::string& path) {
  const std::string used = Resolved(path);
  for (const auto& each : world_.databases()) {
    if (each.get() == &database || !each->live()) continue;
    std::vector<std::string> taken = each->Directories();
    taken.push_back(each->Log() + "/archive");
    if (std::find(taken.begin(), taken.end(), used) == taken.end()) continue;
    if (each->copied && !IsWithin(used, each->home)) {
      each->lost = true;
      continue;
    }
    Wrong("shared: " + database.name + " may use " + Short(path) +
          ", which is for " + each->name);
    return false;
  }
  return true;
}

void Machine::Fill(Database* database, Opened* opened,
                   const std::string& family, bool flush) {
  Status status;
  for (uint64_t i = random_.Between(1, 5); i > 0 && status.ok(); --i) {
    const std::string key =
        database->name + "." + std::to_string(++put_) + " of " + family;
    const std::string value(random_.Between(1, 300), 'v');
    status = opened->Put(family, key, value);
    if (status.ok()) database->pairs[family][key] = value;
  }
  if (status.ok() && flush) {
    status = opened->db()->Flush({}, opened->Handle(family));
  }
  if (!status.ok()) {
    Wrong("fails: " + database->name + ": " + Short(status.ToString()));
  }
}

void Machine::Work(Database* database, Opened* opened) {
  for (const auto& [family, path] : database->paths.families) {
    if (random_.OneIn(2)) Fill(database, opened, family, random_.OneIn(2));
  }
  // Of a plain one only its files say which directories it has.
  if (!database->replica) {
    for (const auto& [family, path] : database->paths.families) {
      Fill(database, opened, family, /*flush=*/true);
      Fill(database, opened, family, /*flush=*/false);
    }
  }
  if (random_.OneIn(3)) {
    opened->db()->PauseBackgroundWork().PermitUncheckedError();
    const Image image(database->Directories());
    opened->db()->ContinueBackgroundWork().PermitUncheckedError();
    opened->Close().PermitUncheckedError();
    image.PutBack();
    Say("  is killed");
  } else {
    const Status status = opened->Close();
    if (!status.ok()) {
      Wrong("fails: " + database->name +
            ": close: " + Short(status.ToString()));
    }
  }
}

void Machine::ExamineAll(const Database* but) {
  for (const auto& each : world_.databases()) {
    if (each.get() == but || !each->live()) continue;
    const std::string wrong = world_.Examine(each.get());
    if (!wrong.empty()) {
      return Wrong("harmed: " + each->name + ":" + Short(wrong));
    }
  }
}

void Machine::Say(const std::string& line) { result_.history.push_back(line); }

void Machine::Wrong(const std::string& what) {
  if (result_.violation.empty()) result_.violation = what;
}

// Without the machine's own directory.
std::string Machine::Short(const std::string& path) const {
  std::string shorter = path;
  for (size_t at; (at = shorter.find(world_.root())) != std::string::npos;) {
    shorter.replace(at, world_.root().size(), "R");
  }
  return shorter;
}

std::string Machine::Short(const Paths& paths) const {
  std::string said;
  if (!paths.wal.empty()) said += " wal_dir=" + paths.wal;
  if (!paths.tables.empty()) said += " db_paths=" + paths.tables;
  for (const auto& [family, path] : paths.families) {
    if (!path.empty()) said += " cf_paths of " + family + "=" + path;
  }
  return Short(said);
}

}  // namespace rocksync::directories
