#include "replication/clone/clone_directory.h"

#include <algorithm>
#include <set>
#include <utility>

#include "replication/base/directories.h"
#include "replication/base/random_bits.h"
#include "replication/base/rocksdb_errors.h"
#include "replication/store/directory/directory_switch.h"
#include "replication/store/directory/make_directory.h"
#include "replication/store/format/current_manifest.h"
#include "replication/store/format/intended_id.h"
#include "replication/store/format/marker.h"
#include "replication/store/open/path_ownership.h"
#include "replication/store/write/free_space.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::EnvOptions;
using rocksdb::Status;

constexpr char kCopiedCurrent[] = "CURRENT.rocksync-clone";
constexpr char kLockFile[] = "LOCK";
constexpr char kNewRecord[] = "ROCKSYNC-CLONE.new";

// Options that write without memory maps, which would be faulted in page by
// page.
EnvOptions PlainWrites() {
  EnvOptions options;
  options.use_mmap_writes = false;
  return options;
}

// Returns true for a file that may lie in a directory that counts as empty.
bool IsIgnorable(std::string_view name) {
  return name == "." || name == ".." || name == kLockFile ||
         name == "lost+found" || name == kCloneRecordFileName ||
         name.ends_with(".new");
}

// Says where a copy is made. A clone's directory can be chosen, a resync's
// cannot.
std::string WhereCopiesAre(ClonePurpose purpose, const std::string& path) {
  return purpose == ClonePurpose::kNewReplica
             ? "a clone is made in a new directory, or in an empty one"
             : "move " + path + " away: a resync makes its copy there";
}

// Returns true if the directory holds only the id that `rocksync id --make`
// leaves, which a clone does not use.
bool HoldsAnIdAlone(const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return name == kIntendedIdFileName || IsIgnorable(name);
  });
}

// What copy a directory with a database holds, to who prepares it for some
// purpose.
enum class FoundCopy {
  kOwn,    // a copy for that purpose
  kOther,  // a copy that is being made for the other purpose
  kNone,   // none: a database
};

// Returns what copy a directory holds that has a record of the purpose `found`,
// to who wants one for `wanted`, which is kNewReplica or kResync.
FoundCopy CopyFor(ClonePurpose wanted, ClonePurpose found) {
  const bool for_clone = wanted == ClonePurpose::kNewReplica;
  switch (found) {
    case ClonePurpose::kNewReplica:
      return for_clone ? FoundCopy::kOwn : FoundCopy::kOther;
    case ClonePurpose::kResync:
      return for_clone ? FoundCopy::kOther : FoundCopy::kOwn;
    case ClonePurpose::kResynced:  // in its place, it is a replica's database
      return for_clone ? FoundCopy::kNone : FoundCopy::kOwn;
  }
  return FoundCopy::kNone;
}

// Checks that the directory `path`, which exists, counts as empty.
Status CheckEmpty(Env* env, const std::string& path, ClonePurpose purpose) {
  std::vector<std::string> names;
  const Status status = env->GetChildren(path, &names);
  // Asked only after an error, since many an Env cannot tell a directory.
  bool is_directory = true;
  if (!status.ok() && env->IsDirectory(path, &is_directory).ok() &&
      !is_directory) {
    return Status::InvalidArgument("rocksync: " + path + " is not a directory",
                                   WhereCopiesAre(purpose, path));
  }
  for (const std::string& name : names) {
    if (IsIgnorable(name)) continue;
    if (HoldsAnIdAlone(names)) {
      return Status::InvalidArgument(
          "rocksync: " + path + " is not empty, it holds " + name,
          "remove that file: a clone has the id that its certificate names");
    }
    return Status::InvalidArgument(
        "rocksync: " + path + " is not empty, it holds " + name,
        WhereCopiesAre(purpose, path));
  }
  return status;
}

}  // namespace

Status CloneDirectory::Prepare(Env* env, const std::string& path,
                               uint64_t replica_id,
                               std::unique_ptr<CloneDirectory>* prepared) {
  return Prepare(env, path, replica_id, ClonePurpose::kNewReplica, prepared);
}

Status CloneDirectory::PrepareResync(
    Env* env, const std::string& path, uint64_t replica_id,
    std::unique_ptr<CloneDirectory>* prepared) {
  return Prepare(env, path, replica_id, ClonePurpose::kResync, prepared);
}

Status CloneDirectory::Prepare(Env* env, const std::string& path,
                               uint64_t replica_id, ClonePurpose purpose,
                               std::unique_ptr<CloneDirectory>* prepared) {
  std::unique_ptr<CloneDirectory> directory(new CloneDirectory(env, path));
  // Checked first, so that not even a LOCK is left in another database.
  Status status = purpose == ClonePurpose::kNewReplica
                      ? CheckLiesInNoDatabase(env, path)
                      : Status::OK();
  if (status.ok()) status = CheckMayReadFiles(path);
  if (status.ok()) status = directory->Inspect(purpose);
  if (status.ok() && directory->empty_) directory->RememberFilesToCreate();
  if (status.ok()) status = MakeDirectory(env, path);
  if (status.ok()) status = CheckMayWrite(path + "/");
  if (!status.ok()) return status;
  status = DirectoryClaim::Take(env, path, &directory->claim_);
  if (!status.ok()) {
    directory->made_.clear();
    return Status::Busy("rocksync: this process works in " + path + " already",
                        status.ToString());
  }
  // Takes RocksDB's own lock, so that no program opens a database here
  // meanwhile.
  status = env->LockFile(path + "/" + kLockFile, &directory->lock_);
  if (!status.ok()) {
    directory->made_.clear();
    return IsLockHeld(status)
               ? Status::Busy("rocksync: another program works in " + path,
                              status.ToString())
               : Status::IOError("rocksync: cannot lock " + path,
                                 status.ToString());
  }
  status = directory->Inspect(purpose);
  if (!directory->empty_) directory->made_.clear();
  if (status.ok()) {
    status = purpose == ClonePurpose::kResync ? directory->BeginAnew(replica_id)
                                              : directory->Mark(replica_id);
  }
  if (status.ok()) *prepared = std::move(directory);
  return status;
}

CloneDirectory::~CloneDirectory() {
  // Before the unlock: the lock's file is removed while it is locked.
  if (!begun_) RemoveWhatWasMade();
  if (lock_ != nullptr) env_->UnlockFile(lock_).PermitUncheckedError();
}

void CloneDirectory::RememberFilesToCreate() {
  for (const char* name : {"CURRENT", "CURRENT.new", kCloneRecordFileName,
                           kNewRecord, kLockFile}) {
    std::string file = path_ + "/" + name;
    if (env_->FileExists(file).IsNotFound()) made_.push_back(std::move(file));
  }
  makes_directory_ = env_->FileExists(path_).IsNotFound();
}

void CloneDirectory::RemoveWhatWasMade() {
  for (const std::string& file : made_) {
    env_->DeleteFile(file).PermitUncheckedError();
  }
  // DeleteDir has no effect if another program has put a file there.
  if (makes_directory_ && !made_.empty()) {
    env_->DeleteDir(path_).PermitUncheckedError();
  }
}

Status CloneDirectory::Inspect(ClonePurpose purpose) {
  std::string current;
  Status status = CurrentManifest(env_, path_, &current);
  empty_ = status.IsNotFound();
  if (empty_) {
    status = purpose == ClonePurpose::kNewReplica
                 ? CheckNoSwitchIsLeft(env_, path_)
                 : Status::OK();
    if (!status.ok()) return status;
    return env_->FileExists(path_).IsNotFound()
               ? Status::OK()
               : CheckEmpty(env_, path_, purpose);
  }
  if (!status.ok()) return status;
  status = ReadCloneRecord(env_, path_, &record_);
  if (!status.ok() && !status.IsNotFound()) return status;
  const FoundCopy copy =
      status.ok() ? CopyFor(purpose, record_.purpose) : FoundCopy::kNone;
  const bool for_clone = purpose == ClonePurpose::kNewReplica;
  if (copy == FoundCopy::kOther) {
    return Status::InvalidArgument(
        "rocksync: in " + path_ + " is a copy that a " +
            (for_clone ? "resync" : "clone") + " makes",
        for_clone ? "clone into another directory"
                  : WhereCopiesAre(purpose, path_));
  }
  if (IsUnfinishedClone(current)) return Status::OK();
  finished_ = copy == FoundCopy::kOwn;
  if (finished_) return status;
  return Status::InvalidArgument(
      "rocksync: there is a database in " + path_,
      for_clone ? "if it is a clone that was opened already, start its "
                  "application; else choose another directory"
                : WhereCopiesAre(purpose, path_));
}

Status CloneDirectory::Mark(uint64_t replica_id) {
  if (finished_) {
    if (replica_id == 0 || replica_id == record_.replica_id) {
      return Status::OK();
    }
    return Status::InvalidArgument(
        "rocksync: the clone in " + path_ + " becomes replica " +
            ReplicaIdHex(record_.replica_id) + ", and the certificate is of " +
            ReplicaIdHex(replica_id),
        "all of it was copied for that one: give its certificate");
  }
  // The mark is made before any file of the copy.
  Status status = empty_ ? MarkUnfinished(env_, path_) : Status::OK();
  if (!status.ok()) return status;
  if (replica_id != 0) record_.replica_id = replica_id;
  if (record_.replica_id == 0) record_.replica_id = RandomBits();
  return WriteCloneRecord(env_, path_, record_);
}

// Starts over: a copy that an earlier resync opened here must not be taken for
// the source's files, nor that resync's checkpoint for a later one.
Status CloneDirectory::BeginAnew(uint64_t replica_id) {
  Status status = MarkUnfinished(env_, path_);
  if (status.ok()) status = RemoveMarker(env_, path_);
  if (!status.ok()) return status;
  finished_ = false;
  record_ = {.purpose = ClonePurpose::kResync, .replica_id = replica_id};
  return WriteCloneRecord(env_, path_, record_);
}

std::string CloneDirectory::PathOf(const CloneFile& file) const {
  return path_ + "/" + (file.name == "CURRENT" ? kCopiedCurrent : file.name);
}

Status CloneDirectory::CheckRoomFor(const CloneFiles& list,
                                    uint64_t min_free_bytes) {
  uint64_t missing = min_free_bytes;
  for (const CloneFile& file : list.files) {
    uint64_t held = 0;
    const Status status = SizeHeld(file, &held);
    if (!status.ok()) return status;
    missing += file.size - held;
  }
  return CheckRoom(env_, {path_}, missing,
                   record_.purpose == ClonePurpose::kNewReplica
                       ? "the rest of the clone takes that much; make room "
                         "there, then clone on"
                       : "the rest of the copy takes that much; make room "
                         "there, then resync again");
}

Status CloneDirectory::Begin(const CloneFiles& list, uint64_t min_free_bytes) {
  std::set<std::string_view> wanted;
  for (const CloneFile& file : list.files) wanted.insert(file.name);
  std::vector<std::string> names;
  Status status = env_->GetChildren(path_, &names);
  for (const std::string& name : names) {
    if (!status.ok()) return status;
    if (name == "CURRENT" || !IsCloneFileName(name) || wanted.contains(name)) {
      continue;
    }
    status = env_->DeleteFile(path_ + "/" + name);
  }
  if (status.ok()) status = CheckRoomFor(list, min_free_bytes);
  if (!status.ok()) return status;
  record_.source_id = list.source_id;
  record_.ticket = list.ticket;
  status = WriteCloneRecord(env_, path_, record_);
  begun_ = status.ok();
  return status;
}

Status CloneDirectory::SizeHeld(const CloneFile& file, uint64_t* held) {
  const std::string path = PathOf(file);
  *held = 0;
  Status status = env_->FileExists(path);
  if (status.IsNotFound()) return Status::OK();
  if (status.ok()) status = env_->GetFileSize(path, held);
  if (!status.ok() || *held <= file.size) return status;
  *held = 0;
  return env_->DeleteFile(path);
}

Status CloneDirectory::HashHeld(const CloneFile& file, CloneCheck* check) {
  std::unique_ptr<rocksdb::SequentialFile> reader;
  Status status = env_->NewSequentialFile(PathOf(file), &reader, EnvOptions());
  check->hashes.clear();
  std::string chunk(kCloneChunkBytes, '\0');
  uint64_t left = std::min(check->size, kMaxCloneHashes * kCloneChunkBytes);
  check->size = 0;
  while (status.ok() && left > 0) {
    const auto wanted =
        static_cast<size_t>(std::min<uint64_t>(left, kCloneChunkBytes));
    size_t have = 0;
    while (status.ok() && have < wanted) {
      rocksdb::Slice piece;
      status = reader->Read(wanted - have, &piece, chunk.data() + have);
      if (!status.ok() || piece.empty()) break;
      if (piece.data() != chunk.data() + have) {
        std::copy(piece.data(), piece.data() + piece.size(),
                  chunk.data() + have);
      }
      have += piece.size();
    }
    // The file has become shorter; what is missing is copied.
    if (!status.ok() || have == 0) break;
    check->hashes.push_back(
        ElementHasher::HashIssuedValue({chunk.data(), have}));
    check->size += have;
    left -= have;
    if (have < wanted) break;
  }
  return status;
}

Status CloneDirectory::Append(const CloneFile& file, uint64_t offset,
                              std::unique_ptr<rocksdb::WritableFile>* writer) {
  const std::string path = PathOf(file);
  return offset == 0 ? env_->NewWritableFile(path, writer, PlainWrites())
                     : env_->ReopenWritableFile(path, writer, PlainWrites());
}

Status CloneDirectory::Finish() {
  const std::string copied = path_ + "/" + kCopiedCurrent;
  std::string current;
  Status status = rocksdb::ReadFileToString(env_, copied, &current);
  if (!status.ok()) return status;
  if (!current.ends_with('\n') ||
      !IsCloneFileName(current.substr(0, current.size() - 1)) ||
      !current.starts_with("MANIFEST-") ||
      !env_->FileExists(path_ + "/" + current.substr(0, current.size() - 1))
           .ok()) {
    return Status::Corruption(
        "rocksync: the CURRENT that was copied names no MANIFEST that was",
        record_.purpose == ClonePurpose::kNewReplica
            ? "clone from another replica"
            : "resync from another replica");
  }
  std::unique_ptr<rocksdb::Directory> directory;
  status = env_->NewDirectory(path_, &directory);
  // All names are durable before the rename that makes this a database.
  if (status.ok()) status = directory->Fsync();
  if (status.ok()) status = env_->RenameFile(copied, path_ + "/CURRENT");
  if (status.ok()) status = directory->Fsync();
  finished_ = status.ok();
  return status;
}

}  // namespace rocksync
