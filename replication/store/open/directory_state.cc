#include "replication/store/open/directory_state.h"

#include <algorithm>
#include <utility>

#include "replication/base/directories.h"
#include "replication/base/random_bits.h"
#include "replication/store/directory/directory_switch.h"
#include "replication/store/directory/make_directory.h"
#include "replication/store/format/current_manifest.h"
#include "replication/store/format/intended_id.h"
#include "replication/store/format/marker.h"
#include "replication/store/open/damaged_manifest.h"
#include "replication/store/open/files_left.h"
#include "replication/store/open/log_files.h"
#include "replication/store/open/log_left_behind.h"
#include "replication/store/open/path_ownership.h"
#include "replication/store/open/preflight.h"
#include "replication/store/open/shared_paths.h"
#include "replication/store/open/unreplayable_records.h"
#include "replication/text/escape_text.h"
#include "rocksync/replica_id.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::Env;
using rocksdb::Status;

Status LookForClone(Env* env, const std::string& name,
                    const Predecessor* predecessor,
                    std::optional<CloneRecord>* clone) {
  CloneRecord record;
  const Status status = ReadCloneRecord(env, name, &record);
  if (status.IsNotFound()) return Status::OK();
  if (!status.ok()) return status;
  // The switch is over, except for what it replaced.
  if (record.purpose == ClonePurpose::kResynced) return status;
  if (record.purpose == ClonePurpose::kResync && predecessor == nullptr) {
    return UnfinishedCopy(env, name);
  }
  *clone = record;
  return status;
}

// Checks whether a damaged MANIFEST hides the index. RocksDB deletes tables
// that the MANIFEST does not list, so a missing index is not called lost while
// its tables may be there.
Status LookAtManifest(const rocksdb::DBOptions& options,
                      const std::string& name, const DirectoryState& around,
                      const std::vector<ColumnFamilyDescriptor>& families) {
  const auto& marker = around.traces.marker;
  const bool due = marker.has_value() && !marker->Lists(std::string());
  if (!due ||
      (around.has_index && !ManifestEndsWithinRecord(options.env, name))) {
    return Status::OK();
  }
  const Status status = CheckManifest(options, name, families);
  if (status.ok()) return status;
  // A MANIFEST that was cut after a clean close lists tables that were gone by
  // then. Those are not what is missing, so the cut is reported instead.
  Loss loss = Loss::kNone;
  const Status left = CheckFilesLeft(
      options.env, *marker, name,
      around.wal_dir.empty() ? name : around.wal_dir, around.manifest, &loss);
  return left.ok() ? status : left;
}

// Checks the log and the MANIFEST against the marker. REQUIRES: there is one.
Status LookForLog(Env* env, const ReplicatedDBOptions& replication,
                  const std::string& name, DirectoryState* around) {
  const Marker& marker = *around->traces.marker;
  const bool may_be_lost = replication.open_copy_as_new_replica ||
                           replication.adopt_after_index_loss;
  const Status elsewhere =
      CheckLogIsNotLeft(env, marker, around->directory, around->wal_dir);
  if (!elsewhere.ok()) return elsewhere;
  const Status there =
      CheckLogIsThere(env, marker, around->directory, around->wal_dir,
                      /*may_be_lost=*/false);
  const bool all_is_lost = there.IsAborted();
  if (!there.ok() && !(all_is_lost && may_be_lost)) return there;
  const Status left = CheckFilesLeft(
      env, marker, name, around->wal_dir.empty() ? name : around->wal_dir,
      around->manifest, &around->traces.loss);
  // After a clean close more is known already.
  if (all_is_lost && around->traces.loss == Loss::kNone) {
    around->traces.loss = Loss::kState;
  }
  return may_be_lost ? Status::OK() : left;
}

Status CheckIndexIsThere(const ReplicatedDBOptions& replication,
                         const std::string& name,
                         const DirectoryState& around) {
  if (around.has_index) return Status::OK();
  if (Judge(around.traces) == Provenance::kIndexLost) {
    return CheckProvenance(Provenance::kIndexLost, replication,
                           around.clone.has_value(), name);
  }
  if (replication.adopt_existing) return Status::OK();
  return Status::InvalidArgument(
      "rocksync: " + name + " is a plain database, not a replica",
      "set ReplicatedDBOptions::adopt_existing to make it one");
}

// RocksDB opens this family by itself (DBOptions::persist_stats_to_disk), and
// callers do not name it.
constexpr char kStatisticsFamilyName[] = "___rocksdb_stats_history___";

// Returns RocksDB's own error for families that are not named, before one that
// was left out is taken for one that is gone.
Status CheckAllAreNamed(
    const std::string& name, const DirectoryState& around,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
  std::string left_out;
  for (const std::string& there : around.names) {
    const bool named =
        there == kIndexFamilyName || there == kStatisticsFamilyName ||
        std::any_of(families.begin(), families.end(),
                    [&](const auto& family) { return family.name == there; });
    if (!named) left_out += (left_out.empty() ? "" : ", ") + EscapeText(there);
  }
  if (left_out.empty()) return Status::OK();
  return Status::InvalidArgument(
      "rocksync: Column families not opened: " + left_out,
      "name all families of " + name +
          "; rocksdb::DB::ListColumnFamilies lists them");
}

// Returns Busy if another program has opened the database meanwhile, else
// `found`. Nobody holds RocksDB's lock yet: what was read before such an
// opening does not fit what was read afterwards.
Status UnlessOpenedMeanwhile(Env* env, const std::string& name,
                             const DirectoryState& around,
                             const Status& found) {
  std::string manifest;
  if (!CurrentManifest(env, name, &manifest).ok() ||
      manifest == around.manifest) {
    return found;
  }
  return Status::Busy(
      "rocksync: another program has opened " + name + " meanwhile",
      "stop it, then open the database again");
}

Status NoDatabase(const std::string& directory) {
  return Status::InvalidArgument(
      "rocksync: there is no database in " + directory,
      "give the directory of one; or have it made (create_if_missing)");
}

}  // namespace

Status ReadDirectoryState(const rocksdb::DBOptions& options,
                          const ReplicatedDBOptions& replication,
                          const std::string& name,
                          const Predecessor* predecessor,
                          const std::vector<ColumnFamilyDescriptor>& families,
                          DirectoryState* around) {
  Env* const env = options.env;
  Status status = FinishSwitch(env, name);
  if (!status.ok()) return status;
  around->directory =
      predecessor != nullptr ? predecessor->directory : AbsolutePath(env, name);
  around->wal_dir = options.wal_dir.empty()
                        ? around->directory
                        : AbsolutePath(env, options.wal_dir);
  status = CheckMayReadFiles(name, options.wal_dir);
  if (!status.ok()) return status;
  status = CurrentManifest(env, name, &around->manifest);
  if (status.IsNotFound()) {
    // A clone may be interrupted before it writes its CURRENT.
    status = CheckNoUnfinishedClone(env, name);
    if (status.ok()) status = CheckNothingIsThere(env, name);
    if (status.ok() && around->wal_dir != around->directory) {
      status = CheckNoLogIsThere(env, name, around->wal_dir);
    }
    if (status.ok()) {
      status = CheckPathsAreFree(options, families, around->directory);
    }
    if (!status.ok()) return status;
    // RocksDB would refuse as well, but leave a LOCK and a LOG there.
    if (!options.create_if_missing) return NoDatabase(name);
    // The log's directory is made before the database's own, which would be
    // left behind if this one cannot be made.
    return around->wal_dir.starts_with(around->directory + "/")
               ? Status::OK()
               : MakeDirectory(env, around->wal_dir);
  }
  if (!status.ok()) return status;
  if (IsUnfinishedClone(around->manifest)) return UnfinishedCopy(env, name);
  around->has_database = true;
  status = LookForClone(env, name, predecessor, &around->clone);
  if (!status.ok()) return status;
  status = rocksdb::DB::ListColumnFamilies(options, name, &around->names);
  if (!status.ok()) return status;
  around->has_index = std::find(around->names.begin(), around->names.end(),
                                kIndexFamilyName) != around->names.end();
  status = LookForMarker(env, name, &around->traces);
  if (status.ok()) status = LookAtManifest(options, name, *around, families);
  if (status.ok()) status = CheckIndexIsThere(replication, name, *around);
  if (status.ok()) status = CheckAllAreNamed(name, *around, families);
  if (status.ok() && around->traces.marker.has_value()) {
    status = LookForLog(env, replication, name, around);
  }
  return status.ok() ? status
                     : UnlessOpenedMeanwhile(env, name, *around, status);
}

Status LookForMarker(Env* env, const std::string& name,
                     ProvenanceFacts* traces) {
  Marker marker;
  const Status status = ReadMarker(env, name, &marker);
  traces->marker.reset();
  if (status.ok()) traces->marker = std::move(marker);
  return status.IsNotFound() ? Status::OK() : status;
}

Status CheckBeforeWriting(const rocksdb::DBOptions& options,
                          const ReplicatedDBOptions& replication,
                          const std::string& name,
                          const std::vector<ColumnFamilyDescriptor>& families,
                          DirectoryState* around) {
  const ProvenanceFacts& traces = around->traces;
  // Paths are checked first: the log may be another database's.
  if (around->has_database) {
    const Known known = traces.marker.has_value() ? Known::kReplica
                        : around->has_index       ? Known::kUnmarked
                                                  : Known::kPlain;
    const Status paths =
        CheckPathsAreOwn(options, families, name, around->directory, known);
    if (!paths.ok()) return paths;
  }
  PreflightResult looked;
  if (around->has_index) {
    looked = PreflightOpen(options, replication, name,
                           {.manifest = around->manifest,
                            .names = around->names,
                            .cloned = around->clone.has_value(),
                            .loss = traces.loss},
                           families);
    if (!looked.status.ok()) return looked.status;
    around->dropped = std::move(looked.dropped);
  } else if (around->has_database) {
    looked.provenance = Judge(traces);
    const Status merges = CheckLogReplays(options, name, families);
    if (!merges.ok()) return merges;
  } else {
    looked.provenance = Provenance::kPlain;
  }
  const bool stays = looked.provenance == Provenance::kOwn ||
                     (around->clone.has_value() && around->has_index);
  uint64_t id = 0;
  return stays ? Status::OK()
               : NewReplicaId(options.env, replication, name,
                              looked.provenance == Provenance::kPlain, &id);
}

Status NewReplicaId(Env* env, const ReplicatedDBOptions& replication,
                    const std::string& name, bool first, uint64_t* id) {
  const uint64_t wanted = first ? replication.new_replica_id : 0;
  const Status status = ReadIntendedId(env, name, id);
  if (status.IsNotFound()) {
    *id = wanted != 0 ? wanted : RandomBits();
    return Status::OK();
  }
  if (!status.ok() || wanted == 0 || wanted == *id) return status;
  return Status::InvalidArgument(
      "rocksync: new_replica_id is " + ReplicaIdHex(wanted) + ", the file " +
          kIntendedIdFileName + " in " + name + " says " + ReplicaIdHex(*id),
      "leave one of them out");
}

}  // namespace rocksync
