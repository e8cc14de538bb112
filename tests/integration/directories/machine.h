// Operations at random on databases whose logs and tables are in directories
// that others may want, too. Whatever an operation answers, every other
// database holds its pairs; one that was refused has changed nothing; and who
// was left alone opens.

#ifndef ROCKSYNC_TESTS_INTEGRATION_DIRECTORIES_MACHINE_H_
#define ROCKSYNC_TESTS_INTEGRATION_DIRECTORIES_MACHINE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "rocksdb/status.h"
#include "tests/integration/directories/world.h"
#include "tests/simulation/random.h"

namespace rocksync::directories {

// Links in the machine's directory, and where they lead.
inline constexpr const char* kLinks[][2] = {{"link1", "o1"}, {"link2", "a/w"}};

struct MachineResult {
  std::vector<std::string> history;
  std::string violation;  // empty: none
  uint64_t operations = 0;
  uint64_t accepted = 0;
  uint64_t refused = 0;
};

class Machine {
 public:
  // Below `parent`; the process works in the machine's directory. `apart`: none
  // is given a directory within another one's.
  Machine(uint64_t seed, const std::filesystem::path& parent, bool apart);

  // Until something is wrong.
  MachineResult Run(uint64_t operations);
  // What it did remains, to be looked at.
  void Keep() { world_.directory()->Keep(); }
  const std::string& root() const { return world_.root(); }

 private:
  using Operation = void (Machine::*)();

  // Operations. Each does nothing where nothing is there for it.
  void Create();
  void CreatePlain();
  void OpenTrue();
  void OpenOtherwise();
  void WritePlain();
  void CreateFamily();
  void PurgeArchive();
  void Detach();
  void DetachIncomplete();
  void CopyAlone();
  void CopyWhole();
  void CopyDirectory();
  void MakeCheckpoint();
  void MoveHome();
  void MoveDirectory();
  void Hide();
  void BringBack();
  void Remove();

  // Draws.
  Database* Pick(bool hidden = false);
  std::string DrawHome();
  std::string DrawDirectory(const Database* of);
  Paths DrawPaths(const Database* of, const std::string& home, Paths paths);
  std::string Spelled(const std::string& path);
  Paths Spelled(Paths paths);
  void MakeAbove(const Paths& paths);
  // What the documents except: nothing tells whose these are.
  bool IsExcepted(const Database* of, const std::string& home,
                  const Paths& paths) const;
  bool IsWithinAnothers(const Database* of, const Paths& paths) const;
  // No other database is in its directory, nor keeps files there.
  bool IsAlone(const Database& database) const;

  // Opens with `paths`; what the library must answer is checked.
  void Open(Database* database, const Paths& paths, bool must_open,
            bool short_archive = false);
  // No other database has the directory that `database` was given.
  bool CheckIsFree(const Database& database, const std::string& path);
  Database* CopyHome(const Database& from);
  void Accepted(Database* database, const Paths& paths, Opened* opened);
  void WriteAsPlain(Database* database);
  // Puts some pairs, and closes, or is killed.
  void Work(Database* database, Opened* opened);
  void Fill(Database* database, Opened* opened, const std::string& family,
            bool flush);
  // Nothing has changed but what `own` had open.
  void Refused(const rocksdb::Status& status, const Files& before,
               const Database* own);

  void ExamineAll(const Database* but);
  void OpenAll();

  void Say(const std::string& line);
  void Wrong(const std::string& what);
  std::string Short(const std::string& path) const;
  std::string Short(const Paths& paths) const;

  const bool apart_;
  Random random_;
  World world_;
  MachineResult result_;
  int put_ = 0;
};

}  // namespace rocksync::directories

#endif  // ROCKSYNC_TESTS_INTEGRATION_DIRECTORIES_MACHINE_H_
