#include "replication/store/offline/own_options.h"

#include <algorithm>
#include <set>

#include "replication/base/directories.h"
#include "replication/store/format/current_manifest.h"
#include "replication/store/format/marker.h"
#include "replication/store/offline/bounded_options.h"
#include "replication/store/open/damaged_files.h"
#include "replication/store/open/files_left.h"
#include "replication/store/open/log_files.h"
#include "replication/store/open/log_left_behind.h"
#include "replication/store/open/log_records.h"
#include "replication/store/open/options_file.h"
#include "replication/store/open/shared_paths.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::Env;
using rocksdb::Status;

// Returns the remedy where the log of `directory` may be another database's.
std::string SayWalDir(const std::string& directory) {
  return "say where the log of this very database is: --wal-dir " + directory +
         "=" + directory + " if it is in the database's own directory, else " +
         "--wal-dir " + directory +
         "=LOGDIR (in a program: DBOptions::wal_dir)";
}

// Facts about where a log may be.
struct Places {
  std::string given;      // the directory, as the caller names it
  std::string directory;  // absolute
  Marker marker;
  bool at_home = false;  // the marker is of an opening in this very place
};

Status Look(Env* env, const std::string& directory, Places* places) {
  places->given = directory;
  places->directory = AbsolutePath(env, directory);
  const Status status = ReadMarker(env, directory, &places->marker);
  places->at_home =
      status.ok() && places->marker.directory == places->directory;
  // A damaged marker says nothing of places.
  return status.IsNotFound() || status.IsCorruption() ? Status::OK() : status;
}

// Sets `*wal_dir` to what the OPTIONS file says, if that is to be believed.
Status ChooseWalDir(const Places& places, const std::string& by_options,
                    Env* env, std::string* wal_dir) {
  *wal_dir =
      by_options.empty() ? places.directory : AbsolutePath(env, by_options);
  const bool relative = !by_options.empty() && by_options[0] != '/';
  if (places.at_home && !places.marker.wal_dir.empty()) {
    if (relative) *wal_dir = places.marker.wal_dir;
    if (*wal_dir == places.marker.wal_dir) return Status::OK();
    return Status::InvalidArgument("rocksync: by its OPTIONS file the log of " +
                                       places.directory + " is in " + *wal_dir +
                                       ", by its file " + kMarkerFileName +
                                       " in " + places.marker.wal_dir,
                                   SayWalDir(places.given));
  }
  if (!relative && IsWithin(*wal_dir, places.directory)) return Status::OK();
  // RocksDB writes the name by which a database was opened for its own
  // directory.
  if (relative && places.directory.ends_with("/" + by_options)) {
    *wal_dir = places.directory;
    return Status::OK();
  }
  return Status::InvalidArgument(
      "rocksync: by its OPTIONS file the log of " + places.directory +
          " is in " + by_options +
          "; that may be the log of another database, of which this is a copy",
      SayWalDir(places.given));
}

// Checks the log of a copy, of a database that was moved, or of one that the
// library never opened. Nothing is known of it but what the OPTIONS file says.
Status CheckLogOfCopy(Env* env, const Places& places,
                      const std::string& wal_dir) {
  std::set<std::string> logs;
  Status status = ListLogFiles(env, wal_dir, &logs);
  if (!status.ok() || !logs.empty()) return status;
  rocksdb::DBOptions last;
  std::vector<ColumnFamilyDescriptor> families;
  status = LoadOptionsFile(env, places.given, &last, &families);
  if (status.IsNotFound()) return Status::OK();
  if (!status.ok()) return status;
  const std::string by_options =
      last.wal_dir.empty() ? places.directory : AbsolutePath(env, last.wal_dir);
  if (by_options == wal_dir) return status;
  status = ListLogFiles(env, by_options, &logs);
  if (!status.ok() || logs.empty()) return status;
  return Status::InvalidArgument(
      "rocksync: " + wal_dir + " holds no log (*.log) of " + places.given +
          ", and by its OPTIONS file that is in " + by_options,
      SayWalDir(places.given));
}

// Returns Corruption if RocksDB would read only up to some damage: the next
// opening would not know that there had been more.
Status CheckNothingWouldBeDropped(Env* env, const std::string& directory,
                                  const std::string& wal_dir) {
  std::string damaged;
  const Status status = FindDamagedLog(env, wal_dir, &damaged);
  if (!status.ok() || damaged.empty()) return status;
  return Status::Corruption(
      "rocksync: the log of " + directory +
          " is damaged, and whole batches follow the damaged place, which "
          "RocksDB would drop: " +
          damaged,
      "if this replica may hold something alone, run `rocksync rescue` or copy "
      "the directory; then open it once by its program, which says what it "
      "drops");
}

Status CheckLog(const rocksdb::DBOptions& options, const std::string& directory,
                DamagedLog damaged_log) {
  Places places;
  Status status = Look(options.env, directory, &places);
  if (!status.ok()) return status;
  const std::string wal_dir = options.wal_dir.empty()
                                  ? places.directory
                                  : AbsolutePath(options.env, options.wal_dir);
  const bool may_be_lost = damaged_log == DamagedLog::kReadAround;
  if (!places.at_home && !places.marker.directory.empty()) {
    status = CheckLogIsNotLeft(options.env, places.marker, places.directory,
                               wal_dir);
  }
  if (places.at_home) {
    status = CheckLogIsThere(options.env, places.marker, places.directory,
                             wal_dir, may_be_lost);
  }
  if (status.ok() && !may_be_lost) {
    Loss loss = Loss::kNone;
    status = CheckFilesLeft(options.env, places.marker, directory,
                            wal_dir.empty() ? directory : wal_dir,
                            CurrentManifest(options.env, directory), &loss);
  }
  if (status.ok() && !may_be_lost) {
    status = CheckNothingWouldBeDropped(options.env, directory, wal_dir);
  }
  if (!status.ok() || places.at_home) return status;
  // A checkpoint need not have a log; the caller says so by naming the own
  // directory, as the checkpoint's OPTIONS file is its original's.
  if (!options.wal_dir.empty() && wal_dir == places.directory) return status;
  return CheckLogOfCopy(options.env, places, wal_dir);
}

}  // namespace

Status LoadOwnOptions(Env* env, const std::string& directory,
                      const std::string& wal_dir, OwnOptions* own,
                      DamagedLog damaged_log) {
  rocksdb::DBOptions plain;
  plain.env = env;
  std::vector<std::string> names;
  Status status =
      NameDamagedFile(rocksdb::DB::ListColumnFamilies(plain, directory, &names),
                      env, directory);
  std::vector<ColumnFamilyDescriptor> known;
  if (status.ok()) status = LoadOptionsFile(env, directory, &own->db, &known);
  if (!status.ok()) return status;
  own->db.env = env;
  own->families.clear();
  for (const std::string& name : names) {
    const auto family = std::find_if(
        known.begin(), known.end(),
        [&](const ColumnFamilyDescriptor& d) { return d.name == name; });
    if (family == known.end()) {
      return Status::InvalidArgument(
          "rocksync: the OPTIONS file of " + directory +
              " does not know its column family '" + name + "'",
          "open the database by its program once, so that the file is "
          "written");
    }
    own->families.emplace_back(name, BoundedFamilyOptions(family->options));
  }
  own->db = BoundedOptions(own->db);
  status = ChooseLogDirectory(env, directory, own->db.wal_dir, wal_dir,
                              &own->db.wal_dir);
  if (!status.ok()) return status;
  if (damaged_log == DamagedLog::kReadAround) {
    own->db.wal_recovery_mode = kSalvageRecovery;
  }
  return CheckLog(own->db, directory, damaged_log);
}

Status ChooseLogDirectory(Env* env, const std::string& directory,
                          const std::string& by_options,
                          const std::string& given, std::string* wal_dir) {
  Places places;
  const Status status = Look(env, directory, &places);
  if (!status.ok()) return status;
  std::string chosen = given;
  if (chosen.empty()) {
    const Status choice = ChooseWalDir(places, by_options, env, &chosen);
    if (!choice.ok()) return choice;
  }
  *wal_dir = AbsolutePath(env, chosen);
  return CheckLogIsNotAnothers(env, AbsolutePath(env, directory), *wal_dir);
}

Status FindLostLog(Env* env, const std::string& directory,
                   const std::string& wal_directory, std::string* lost) {
  const std::string wal_dir = AbsolutePath(env, wal_directory);
  lost->clear();
  Places places;
  Status status = Look(env, directory, &places);
  if (!status.ok()) return status;
  // After a clean close it is known which file is lost.
  *lost =
      LostLogOf(env, places.marker, wal_dir, CurrentManifest(env, directory));
  if (places.at_home) {
    status = CheckLogIsThere(env, places.marker, places.directory, wal_dir,
                             /*may_be_lost=*/false);
  } else if (wal_dir != places.directory) {
    status = CheckLogOfCopy(env, places, wal_dir);
  }
  if (!status.IsAborted()) return status;
  if (lost->empty() || places.marker.files.size() == 1) {
    *lost = "there is no *.log in " + wal_dir +
            ", and there was one: it was removed, or is on a disk that is not "
            "mounted (--wal-dir says where it is)";
  }
  return Status::OK();
}

Status FindDamagedLog(Env* env, const std::string& wal_dir,
                      std::string* damaged) {
  damaged->clear();
  std::set<std::string> logs;
  Status status = ListLogFiles(env, wal_dir, &logs);
  for (const std::string& log : logs) {
    if (!status.ok() || !damaged->empty()) return status;
    const std::string path = wal_dir + "/" + log;
    SoundBatches sound;
    status = CountSoundBatches(env, path, LogNumber(log), /*known=*/0, &sound);
    if (sound.behind_damage) *damaged = path;
  }
  return status;
}

rocksdb::DBOptions WithLogAtHome(rocksdb::DBOptions options,
                                 const std::string& directory) {
  if (!options.wal_dir.empty() && AbsolutePath(options.env, options.wal_dir) ==
                                      AbsolutePath(options.env, directory)) {
    options.wal_dir.clear();
  }
  return options;
}

Status CheckWalDir(const rocksdb::DBOptions& options,
                   const std::string& directory) {
  return CheckLog(options, directory, DamagedLog::kRefused);
}

}  // namespace rocksync
