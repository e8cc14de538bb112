// What of RocksDB's API differs between its versions, for replication/ and what
// stands on it. Elsewhere: the calls of rocksdb::DB itself that do
// (rocksync/version_specific_db.h), what only RocksDB's errors' texts tell
// (rocksdb_errors.h), the bytes of a batch (write_batch_format.h), and files of
// a newer RocksDB (store/open/newer_rocksdb.h).

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

// What DB::Open and its like give the database in: from 11.0 on that is a
// unique_ptr only.
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

// How many flushed memtables stay in memory, by the option that newer versions
// no longer have.
template <typename FamilyOptions>
int MemtablesToKeep(const FamilyOptions& options) {
  if constexpr (requires { options.max_write_buffer_number_to_maintain; }) {
    return options.max_write_buffer_number_to_maintain;
  } else {
    return 0;
  }
}

// Newer versions can go on with the last opening's MANIFEST. But by a new one
// the next opening knows that this one may have taken the log away that the
// last close left, even if this one fails after that (files_left.h).
template <typename DBOptions>
void BeginNewManifest(DBOptions* options) {
  if constexpr (requires { options->reuse_manifest_on_open; }) {
    options->reuse_manifest_on_open = false;
  }
}

// rocksdb::DB::Open: a database without this library. `*db` is null unless OK.
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

// rocksdb::DB::OpenForReadOnly. With track_and_verify_wals_in_manifest off
// RocksDB would write into a MANIFEST that tracks the log, which a database
// that is open for reading must not: that ends the process. Without such a
// MANIFEST the option changes nothing.
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

// After it has recovered from a full disk, an older RocksDB refuses writes with
// the next background error, be it soft: it clears the error, and not that it
// has stopped (ErrorHandler::ClearBGError; so in 8.8, no more in 9.5).
#if ROCKSYNC_ROCKSDB_AT_LEAST(9, 5)
inline constexpr bool kSoftErrorsStopAfterFullDisk = false;
#else
inline constexpr bool kSoftErrorsStopAfterFullDisk = true;
#endif

// For a copy that is being repaired, without the logs of its MANIFEST: newer
// versions can demand them.
template <typename DBOptions>
void OpenWithoutLogs(DBOptions* options) {
  options->track_and_verify_wals_in_manifest = false;
  if constexpr (requires { options->track_and_verify_wals; }) {
    options->track_and_verify_wals = false;
  }
}

// What stands for "from the first" and "to the last" in GetAllKeyVersions: an
// empty Slice up to 10.0, and afterwards none, where an empty one is the key
// "".
struct NoBound {
  template <typename Bound>
  operator Bound() const {
    return Bound();
  }
};

// rocksdb::GetAllKeyVersions: the first `most` records from `*from` on, or from
// the first key on.
inline rocksdb::Status KeyVersionsFrom(
    rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
    const rocksdb::Slice* from, size_t most,
    std::vector<rocksdb::KeyVersion>* versions) {
  return from == nullptr ? rocksdb::GetAllKeyVersions(db, family, NoBound(),
                                                      NoBound(), most, versions)
                         : rocksdb::GetAllKeyVersions(
                               db, family, *from, NoBound(), most, versions);
}

// Whether `key`, which DB::Get finds in a family with a merge operator, is no
// wide-column entity for sure: MergeInProgress; OK if GetEntity is to say that.
// The GetEntity of 7.8 ends the process where a key has only operands of merges
// (Version::Get merges them into no value), and finds no columns where a
// deletion is beneath them; those of 7.9 and later merge. GetMergeOperands
// refuses entities, and what reaches one by merges Get does not find in 7.8.
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
  // Incomplete: more operands than one.
  return status.ok() || status.IsIncomplete()
             ? rocksdb::Status::MergeInProgress()
             : status;
}
#endif

// The handler of a batch's operations. Those that put something else than a
// plain value, whichever of them a version has, come as OtherPutCF, and what a
// TransactionDB adds for its two phases as TwoPhaseMark, which cannot fail:
// RocksDB built with assertions would end the process.
class BatchHandler : public rocksdb::WriteBatch::Handler {
 public:
  // `call` names what of WriteBatch put it there.
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
    kBeginPrepare,  // what follows is of a transaction, up to kEndPrepare
    kEndPrepare,    // names it
    kCommit,        // of the transaction of this name
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
