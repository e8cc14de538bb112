// The directory in which a clone is made, from its first file until it can be
// opened (clone_record.h says what lies there). Files found there are never
// trusted: they are compared with the source's before they count. So after any
// crash or damage it is enough to call again.

#ifndef ROCKSYNC_REPLICATION_CLONE_CLONE_DIRECTORY_H_
#define ROCKSYNC_REPLICATION_CLONE_CLONE_DIRECTORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "replication/clone/clone_messages.h"
#include "replication/store/directory/directory_claim.h"
#include "replication/store/format/clone_record.h"
#include "rocksdb/env.h"

namespace rocksync {

// Thread rule: one thread prepares and finishes it; in between, several threads
// may write files, each a file of its own.
class CloneDirectory {
 public:
  // Makes the directory, or resumes one in which a clone is unfinished.
  // `replica_id` is that of the clone; 0: the one that an earlier call chose,
  // or a random one. InvalidArgument: something else is there, which is not
  // touched; or it holds all files of a clone that becomes another replica; or
  // it lies in the directory of another database. Busy: another program, or
  // this process, works in it.
  static rocksdb::Status Prepare(rocksdb::Env* env, const std::string& path,
                                 uint64_t replica_id,
                                 std::unique_ptr<CloneDirectory>* prepared);
  // Makes or reuses the directory for a resync of `replica_id`. A resync always
  // starts over, however far an earlier one came: from a checkpoint that is
  // made from now on, keeping those files of it that are there.
  static rocksdb::Status PrepareResync(
      rocksdb::Env* env, const std::string& path, uint64_t replica_id,
      std::unique_ptr<CloneDirectory>* prepared);
  // Removes what Prepare made if Begin was not reached, so that the directory
  // can be used for something else.
  ~CloneDirectory();

  const std::string& path() const { return path_; }
  const CloneRecord& record() const { return record_; }
  // Returns true if all files are there, so that nothing is left to be copied.
  bool finished() const { return finished_; }

  // Sets the files that are to be copied, and removes other files of RocksDB.
  // NoSpace: the disk has too little room for them.
  rocksdb::Status Begin(const CloneFiles& list, uint64_t min_free_bytes);

  // Sets `*held` to how many bytes of the file are there, at most its size. A
  // file that is longer is removed.
  rocksdb::Status SizeHeld(const CloneFile& file, uint64_t* held);
  // Computes the hashes of the first `check->size` bytes that are there, but of
  // kMaxCloneHashes chunks at most, and sets `check->size` to what was hashed.
  rocksdb::Status HashHeld(const CloneFile& file, CloneCheck* check);
  // Opens the file to append at `offset`, which is the size held, or 0 to write
  // it anew.
  rocksdb::Status Append(const CloneFile& file, uint64_t offset,
                         std::unique_ptr<rocksdb::WritableFile>* writer);

  // Makes the directory a database that can be opened.
  // REQUIRES: all files are there and durable.
  rocksdb::Status Finish();

 private:
  CloneDirectory(rocksdb::Env* env, std::string path)
      : env_(env), path_(std::move(path)) {}
  static rocksdb::Status Prepare(rocksdb::Env* env, const std::string& path,
                                 uint64_t replica_id, ClonePurpose purpose,
                                 std::unique_ptr<CloneDirectory>* prepared);
  // Finds out what is there, without writing.
  rocksdb::Status Inspect(ClonePurpose purpose);
  rocksdb::Status Mark(uint64_t replica_id);
  rocksdb::Status BeginAnew(uint64_t replica_id);
  // Remembers what this object may make: the files, and the directory, that are
  // not there yet.
  void RememberFilesToCreate();
  void RemoveWhatWasMade();
  rocksdb::Status CheckRoomFor(const CloneFiles& list, uint64_t min_free_bytes);
  // Returns the path of a file. The source's CURRENT has another name until
  // Finish.
  std::string PathOf(const CloneFile& file) const;

  rocksdb::Env* const env_;
  const std::string path_;
  std::unique_ptr<DirectoryClaim> claim_;
  rocksdb::FileLock* lock_ = nullptr;
  CloneRecord record_;
  bool empty_ = false;  // the directory was empty when Prepare looked
  bool finished_ = false;
  bool begun_ = false;
  // The files that this object may have made, since they were not there before.
  std::vector<std::string> made_;
  bool makes_directory_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_CLONE_CLONE_DIRECTORY_H_
