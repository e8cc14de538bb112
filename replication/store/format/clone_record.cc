#include "replication/store/format/clone_record.h"

#include "replication/base/durable_file.h"
#include "replication/store/format/current_manifest.h"
#include "sketch/element/coding.h"
#include "sketch/element/sha256.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::Status;

constexpr std::string_view kCloneMagic = "rocksync clone";
constexpr uint8_t kCloneFormat = 2;
constexpr size_t kCloneChecksumBytes = 8;

// RocksDB takes this for damage, as it has no line feed at its end.
constexpr std::string_view kUnfinishedText =
    "An unfinished rocksync clone. Finish it by the same `rocksync clone` or "
    "ReplicatedDB::Clone (or ReplicatedDB::Resync), or remove this directory.";

std::string CloneChecksum(std::string_view bytes) {
  const Sha256Digest digest = Sha256({bytes});
  return std::string(AsPiece(digest).substr(0, kCloneChecksumBytes));
}

}  // namespace

std::string Encode(const CloneRecord& record) {
  std::string out(kCloneMagic);
  PutFixed8(&out, kCloneFormat);
  PutFixed8(&out, static_cast<uint8_t>(record.purpose));
  PutFixed64(&out, record.replica_id);
  PutFixed64(&out, record.source_id);
  PutFixed64(&out, record.ticket);
  out.append(CloneChecksum(out));
  return out;
}

bool Decode(std::string_view bytes, CloneRecord* record) {
  if (bytes.size() < kCloneChecksumBytes) return false;
  const std::string_view checksum =
      bytes.substr(bytes.size() - kCloneChecksumBytes);
  bytes.remove_suffix(kCloneChecksumBytes);
  std::string_view magic;
  uint8_t format = 0;
  uint8_t purpose = 0;
  const bool whole = checksum == CloneChecksum(bytes) &&
                     GetBytes(&bytes, kCloneMagic.size(), &magic) &&
                     magic == kCloneMagic && GetFixed8(&bytes, &format) &&
                     format == kCloneFormat && GetFixed8(&bytes, &purpose) &&
                     purpose <= static_cast<uint8_t>(ClonePurpose::kResynced) &&
                     GetFixed64(&bytes, &record->replica_id) &&
                     record->replica_id != 0 &&
                     GetFixed64(&bytes, &record->source_id) &&
                     GetFixed64(&bytes, &record->ticket) && bytes.empty();
  record->purpose = static_cast<ClonePurpose>(purpose);
  return whole;
}

Status ReadCloneRecord(Env* env, const std::string& directory,
                       CloneRecord* record) {
  const std::string name = directory + "/" + kCloneRecordFileName;
  Status status = env->FileExists(name);
  if (!status.ok()) return status;
  std::string bytes;
  status = rocksdb::ReadFileToString(env, name, &bytes);
  if (!status.ok()) return status;
  if (!Decode(bytes, record)) {
    return Status::Corruption(
        "rocksync: " + name + " is damaged or of a newer version",
        "use a newer version of the library; or remove the file: then the "
        "database counts as a copy (option open_copy_as_new_replica, of "
        "rocksync-store --as-new-replica)");
  }
  return status;
}

Status WriteCloneRecord(Env* env, const std::string& directory,
                        const CloneRecord& record) {
  return ReplaceFile(env, directory, kCloneRecordFileName, Encode(record));
}

Status RemoveCloneRecord(Env* env, const std::string& directory) {
  return RemoveFile(env, directory, kCloneRecordFileName);
}

Status MarkUnfinished(Env* env, const std::string& directory) {
  return ReplaceFile(env, directory, "CURRENT", kUnfinishedText);
}

bool IsUnfinishedClone(std::string_view current) {
  return current == kUnfinishedText;
}

Status UnfinishedCopy(Env* env, const std::string& directory) {
  CloneRecord record;
  const Status read = ReadCloneRecord(env, directory, &record);
  // A copy that has only begun has no record; its name tells.
  const bool beside = directory.ends_with(kResyncSuffix);
  const bool of_resync =
      read.ok() ? record.purpose != ClonePurpose::kNewReplica : beside;
  if (!of_resync) {
    return Status::Aborted(
        "rocksync: " + directory + " holds an unfinished clone",
        "finish it by the same `rocksync clone` or ReplicatedDB::Clone, or "
        "remove the directory");
  }
  const std::string replica =
      beside ? directory.substr(
                   0, directory.size() - std::string_view(kResyncSuffix).size())
             : "the replica's own directory";
  return Status::Aborted(
      "rocksync: " + directory + " holds a copy that a resync makes",
      "open " + replica +
          "; or run the same `rocksync resync` or ReplicatedDB::Resync of it "
          "again; or remove " +
          directory);
}

Status CheckNoUnfinishedClone(Env* env, const std::string& directory) {
  std::string current;
  Status status = CurrentManifest(env, directory, &current);
  if (status.ok() && IsUnfinishedClone(current)) {
    return UnfinishedCopy(env, directory);
  }
  // All files are there. The record says what the copy becomes, and with which
  // id.
  CloneRecord record;
  status = ReadCloneRecord(env, directory, &record);
  if (status.IsNotFound()) return Status::OK();
  // The copy has become the replica already, unless it still lies beside it.
  if (status.ok() && record.purpose == ClonePurpose::kResynced &&
      !directory.ends_with(kResyncSuffix)) {
    return status;
  }
  return UnfinishedCopy(env, directory);
}

}  // namespace rocksync
