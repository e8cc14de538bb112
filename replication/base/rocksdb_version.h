// The differences between RocksDB's versions, for replication/ and the modules
// above it. Elsewhere are the calls of rocksdb::DB itself that differ
// (rocksync/version_specific_db.h), the causes that only the texts of errors
// tell (rocksdb_errors.h), the bytes of a batch (write_batch_format.h), and
// files of a newer RocksDB (store/open/newer_rocksdb.h).

#ifndef ROCKSYNC_REPLICATION_BASE_ROCKSDB_VERSION_H_
#define ROCKSYNC_REPLICATION_BASE_ROCKSDB_VERSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/utilities/debug.h"
#include "rocksdb/write_batch.h"
#include "rocksync/rocksdb_version.h"

namespace rocksync {

// The type in which DB::Open and its variants return the database: since 11.0
// only a unique_ptr is possible.
#if ROCKSYNC_ROCKSDB_AT_LEAST(9, 11)
using OpenedDB = std::unique_ptr<rocksdb::DB>;
inline std::unique_ptr<rocksdb::DB> TakeOpened(OpenedDB opened) {
  return opened;
}
#else
using OpenedDB = rocksdb::DB*;
inline std::unique_ptr<rocksdb::DB> TakeOpened(OpenedDB opened) {
  return std::unique_ptr<rocksdb::DB>(opened);
}
#endif

// Returns how many flushed memtables stay in memory, by an option that newer
// versions no longer have.
template <typename FamilyOptions>
int MemtablesToKeep(const FamilyOptions& options) {
  if constexpr (requires { options.max_write_buffer_number_to_maintain; }) {
    return options.max_write_buffer_number_to_maintain;
  } else {
    return 0;
  }
}

// Makes an opening begin a new MANIFEST; newer versions could go on with that
// of the last opening. A new one tells the next opening that this one may have
// removed the log that the last close left, even if this one fails after that
// (files_left.h).
template <typename DBOptions>
void BeginNewManifest(DBOptions* options) {
  if constexpr (requires { options->reuse_manifest_on_open; }) {
    options->reuse_manifest_on_open = false;
  }
}

// Calls rocksdb::DB::Open, without this library. `*db` is null unless OK.
inline rocksdb::Status OpenPlain(
    rocksdb::DBOptions options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    std::vector<rocksdb::ColumnFamilyHandle*>* handles,
    std::unique_ptr<rocksdb::DB>* db) {
  BeginNewManifest(&options);
  OpenedDB opened{};
  rocksdb::Status status =
      rocksdb::DB::Open(options, name, families, handles, &opened);
  *db = status.ok() ? TakeOpened(std::move(opened)) : nullptr;
  return status;
}

inline rocksdb::Status OpenPlain(rocksdb::Options options,
                                 const std::string& name,
                                 std::unique_ptr<rocksdb::DB>* db) {
  BeginNewManifest(&options);
  OpenedDB opened{};
  rocksdb::Status status = rocksdb::DB::Open(options, name, &opened);
  *db = status.ok() ? TakeOpened(std::move(opened)) : nullptr;
  return status;
}

// Calls rocksdb::DB::OpenForReadOnly. It sets
// track_and_verify_wals_in_manifest: if the MANIFEST tracks the log and the
// option is off, RocksDB would write to the MANIFEST, which ends the process in
// a read-only opening. Without such a MANIFEST the option changes nothing.
inline rocksdb::Status OpenPlainForReadOnly(
    rocksdb::DBOptions options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    std::vector<rocksdb::ColumnFamilyHandle*>* handles,
    std::unique_ptr<rocksdb::DB>* db) {
  options.track_and_verify_wals_in_manifest = true;
  OpenedDB opened{};
  rocksdb::Status status =
      rocksdb::DB::OpenForReadOnly(options, name, families, handles, &opened);
  *db = status.ok() ? TakeOpened(std::move(opened)) : nullptr;
  return status;
}

inline rocksdb::Status OpenPlainForReadOnly(rocksdb::Options options,
                                            const std::string& name,
                                            std::unique_ptr<rocksdb::DB>* db) {
  options.track_and_verify_wals_in_manifest = true;
  OpenedDB opened{};
  rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, name, &opened);
  *db = status.ok() ? TakeOpened(std::move(opened)) : nullptr;
  return status;
}

// Whether RocksDB, after it recovered from a full disk, refuses writes at the
// next background error, even a soft one. Older versions clear the error, but
// not the flag that RocksDB has stopped (ErrorHandler::ClearBGError; so in 8.8,
// no longer in 9.5).
#if ROCKSYNC_ROCKSDB_AT_LEAST(9, 5)
inline constexpr bool kSoftErrorsStopAfterFullDisk = false;
#else
inline constexpr bool kSoftErrorsStopAfterFullDisk = true;
#endif

// Lets a copy that is being repaired open without the logs that its MANIFEST
// lists; newer versions can demand them.
template <typename DBOptions>
void OpenWithoutLogs(DBOptions* options) {
  options->track_and_verify_wals_in_manifest = false;
  if constexpr (requires { options->track_and_verify_wals; }) {
    options->track_and_verify_wals = false;
  }
}

// The open bounds of GetAllKeyVersions, "from the first" and "to the last". Up
// to 10.0 an empty Slice stands for them; afterwards an absent one does, and an
// empty one is the key "".
struct NoBound {
  template <typename Bound>
  operator Bound() const {
    return Bound();
  }
};

// Calls rocksdb::GetAllKeyVersions for the first `most` records from `*from`
// on; from the first key on if `from` is null.
inline rocksdb::Status KeyVersionsFrom(
    rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
    const rocksdb::Slice* from, size_t most,
    std::vector<rocksdb::KeyVersion>* versions) {
  return from == nullptr ? rocksdb::GetAllKeyVersions(db, family, NoBound(),
                                                      NoBound(), most, versions)
                         : rocksdb::GetAllKeyVersions(
                               db, family, *from, NoBound(), most, versions);
}

// Tells whether GetEntity may be asked for `key`, which DB::Get finds in a
// family with a merge operator. Returns OK if it may, and MergeInProgress if
// the key is certainly not a wide-column entity. GetEntity of 7.8 ends the
// process if a key has only merge operands (Version::Get merges them into no
// value), and finds no columns if a deletion is beneath them; since 7.9 it
// merges. GetMergeOperands refuses entities. A key whose operands are on top of
// an entity is not found by Get in 7.8.
#if ROCKSYNC_ROCKSDB_AT_LEAST(7, 9)
inline rocksdb::Status MayBeEntity(rocksdb::DB*, const rocksdb::ReadOptions&,
                                   rocksdb::ColumnFamilyHandle*,
                                   const rocksdb::Slice&) {
  return rocksdb::Status::OK();
}
#else
inline rocksdb::Status MayBeEntity(rocksdb::DB* db,
                                   const rocksdb::ReadOptions& options,
                                   rocksdb::ColumnFamilyHandle* family,
                                   const rocksdb::Slice& key) {
  rocksdb::PinnableSlice operand;
  rocksdb::GetMergeOperandsOptions one;
  one.expected_max_number_of_operands = 1;
  int operands = 0;
  const rocksdb::Status status =
      db->GetMergeOperands(options, family, key, &operand, &one, &operands);
  if (status.IsNotSupported()) return rocksdb::Status::OK();
  // Incomplete: there is more than one operand.
  return status.ok() || status.IsIncomplete()
             ? rocksdb::Status::MergeInProgress()
             : status;
}
#endif

// Handles the operations of a batch. Any operation that puts something else
// than a plain value arrives as OtherPutCF, whichever of them a version has.
// The marks of a TransactionDB's two phases arrive as TwoPhaseMark, which
// cannot fail: RocksDB built with assertions would end the process.
class BatchHandler : public rocksdb::WriteBatch::Handler {
 public:
  // `call` names the call of WriteBatch that added the operation.
  virtual rocksdb::Status OtherPutCF(uint32_t id, const char* call) = 0;

  rocksdb::Status PutEntityCF(uint32_t id, const rocksdb::Slice&,
                              const rocksdb::Slice&) final {
    return OtherPutCF(id, "PutEntity");
  }
  rocksdb::Status PutBlobIndexCF(uint32_t id, const rocksdb::Slice&,
                                 const rocksdb::Slice&) final {
    return OtherPutCF(id, "a blob index");
  }
#if ROCKSYNC_ROCKSDB_AT_LEAST(9, 1)
  rocksdb::Status TimedPutCF(uint32_t id, const rocksdb::Slice&,
                             const rocksdb::Slice&, uint64_t) final {
    return OtherPutCF(id, "TimedPut");
  }
#endif

  enum class TwoPhase : uint8_t {
    kBeginPrepare,  // up to kEndPrepare, the operations are a transaction's
    kEndPrepare,    // carries the transaction's name
    kCommit,        // of the transaction with this name
    kRollback,
  };
  virtual void TwoPhaseMark(TwoPhase, const rocksdb::Slice& /*name*/) {}

  rocksdb::Status MarkBeginPrepare(bool) final {
    return Marked(TwoPhase::kBeginPrepare, rocksdb::Slice());
  }
  rocksdb::Status MarkEndPrepare(const rocksdb::Slice& name) final {
    return Marked(TwoPhase::kEndPrepare, name);
  }
  rocksdb::Status MarkRollback(const rocksdb::Slice& name) final {
    return Marked(TwoPhase::kRollback, name);
  }
  rocksdb::Status MarkCommit(const rocksdb::Slice& name) final {
    return Marked(TwoPhase::kCommit, name);
  }
  rocksdb::Status MarkCommitWithTimestamp(const rocksdb::Slice& name,
                                          const rocksdb::Slice&) final {
    return Marked(TwoPhase::kCommit, name);
  }

 private:
  rocksdb::Status Marked(TwoPhase mark, const rocksdb::Slice& name) {
    TwoPhaseMark(mark, name);
    return rocksdb::Status::OK();
  }
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_ROCKSDB_VERSION_H_
