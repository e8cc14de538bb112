// A few directories on a real file system, and the databases in them: what each
// must hold, and where. Databases are closed between operations.

#ifndef ROCKSYNC_TESTS_INTEGRATION_DIRECTORIES_WORLD_H_
#define ROCKSYNC_TESTS_INTEGRATION_DIRECTORIES_WORLD_H_

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/directories/opened.h"
#include "tests/support/temporary_directory.h"

namespace rocksync::directories {

struct Database {
  std::string name;  // in the history
  std::string home;
  std::string first;  // the one that it is a copy of, or of a copy; else itself
  Paths paths;        // its true options
  Pairs pairs;
  bool replica = false;  // has been opened by the library
  bool copy = false;     // of a replica: a new one at its next opening
  bool copied = false;   // file by file, and not opened since
  // Opened there, with these paths, and neither copied nor moved since.
  bool settled = false;
  // A copy without some of its directories: nothing is known of what it holds.
  bool lost = false;
  std::string hidden_from;  // empty: it is there

  bool live() const { return !lost; }
  // Its true options from now on.
  void Take(const Paths& given);
  std::vector<std::string> Directories() const;
  const std::string& Log() const {
    return paths.wal.empty() ? home : paths.wal;
  }
};

// All regular files by path, with what is in them.
using Files = std::map<std::string, std::string>;

class World {
 public:
  explicit World(const std::filesystem::path& parent) : root_(parent) {}

  std::string At(const std::string& name) const { return root_ / name; }
  // One that was never there.
  std::string Fresh(const std::string& kind) {
    return root_ / (kind + std::to_string(++fresh_));
  }
  const std::string& root() const { return root_.path(); }
  TemporaryDirectory* directory() { return &root_; }

  Database* Add(const std::string& home);
  void Forget(Database* database);
  const std::vector<std::unique_ptr<Database>>& databases() const {
    return databases_;
  }

  // Empty, or what is wrong: read by RocksDB alone, in a copy, with the
  // database's true options. Not read again if no file has changed.
  std::string Examine(Database* database);

  // Of the whole world, but what any opening may write: LOCK and LOG*.
  Files Read() const;
  // The files that are not the same in both.
  static std::vector<std::string> Changed(const Files& before,
                                          const Files& after);

  // As `cp -a`.
  static void Copy(const std::string& from, const std::string& to);
  // Every database's paths with it.
  void Rename(const std::string& from, const std::string& to);

  // Whether a live database, other than `but`, uses the directory, or one in
  // it; if so, which.
  const Database* UserOf(const std::string& directory, const Database* but,
                         bool within) const;

 private:
  TemporaryDirectory root_;
  TemporaryDirectory scratch_;
  int fresh_ = 0;
  int named_ = 0;
  std::vector<std::unique_ptr<Database>> databases_;
  std::map<const Database*, std::string> examined_;  // as the files were
};

// Whether `path` is `directory` or below it.
bool IsWithin(const std::string& path, const std::string& directory);
// Where links lead.
std::string Resolved(const std::string& path);

// The files of an open database at one moment, to be put back once it is
// closed: as after a kill.
class Image {
 public:
  explicit Image(std::vector<std::string> directories);
  void PutBack() const;

 private:
  std::map<std::string, Files> directories_;
};

}  // namespace rocksync::directories

#endif  // ROCKSYNC_TESTS_INTEGRATION_DIRECTORIES_WORLD_H_
