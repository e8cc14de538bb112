// The directory that a clone is made in, from its first file to the moment from
// which it can be opened (clone_record.h has what lies there). What is there is
// never believed: files are compared with the source's before they count, so no
// crash, and no damage, leaves more to be done than to call again.

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

// One thread prepares and finishes it, several may write files meanwhile, each
// a file of its own.
class CloneDirectory {
 public:
  // Makes the directory, or goes on with one in which a clone is unfinished.
  // `replica_id`: what the clone shall be; 0: what an earlier call chose, or a
  // random one. InvalidArgument: something else is there, of which nothing was
  // touched; or all files are, of what becomes another replica; or it lies in a
  // directory of another database. Busy: another program works in it.
  static rocksdb::Status Prepare(rocksdb::Env* env, const std::string& path,
                                 uint64_t replica_id,
                                 std::unique_ptr<CloneDirectory>* prepared);
  // The same for a resync of `replica_id`. Whatever an earlier one came to, it
  // starts over: from a checkpoint that is made from now on, with what is there
  // of its files.
  static rocksdb::Status PrepareResync(
      rocksdb::Env* env, const std::string& path, uint64_t replica_id,
      std::unique_ptr<CloneDirectory>* prepared);
  // Removes what Prepare made if nothing was to be copied yet: nobody has to
  // remove the directory before it can be used for something else.
  ~CloneDirectory();

  const std::string& path() const { return path_; }
  const CloneRecord& record() const { return record_; }
  // All files are there: nothing is left to be copied.
  bool finished() const { return finished_; }

  // What is to be copied from now on. Removes files that are not in it.
  // NoSpace: the disk has too little room for it.
  rocksdb::Status Begin(const CloneFiles& list, uint64_t min_free_bytes);

  // Bytes of the file that are there, at most its size; a longer one is
  // removed.
  rocksdb::Status SizeHeld(const CloneFile& file, uint64_t* held);
  // Their hashes.
  rocksdb::Status HashHeld(const CloneFile& file, CloneCheck* check);
  // To append at `offset`, which is what is held, or 0: anew.
  rocksdb::Status Append(const CloneFile& file, uint64_t offset,
                         std::unique_ptr<rocksdb::WritableFile>* writer);

  // All files are durable. From here on the database can be opened.
  rocksdb::Status Finish();

 private:
  CloneDirectory(rocksdb::Env* env, std::string path)
      : env_(env), path_(std::move(path)) {}
  static rocksdb::Status Prepare(rocksdb::Env* env, const std::string& path,
                                 uint64_t replica_id, ClonePurpose purpose,
                                 std::unique_ptr<CloneDirectory>* prepared);
  // What is there, without writing.
  rocksdb::Status Look(ClonePurpose purpose);
  rocksdb::Status Mark(uint64_t replica_id);
  rocksdb::Status BeginAnew(uint64_t replica_id);
  void NoteWhatIsMissing();
  void RemoveWhatWasMade();
  rocksdb::Status CheckRoomFor(const CloneFiles& list, uint64_t min_free_bytes);
  // CURRENT has another name until the end.
  std::string PathOf(const CloneFile& file) const;

  rocksdb::Env* const env_;
  const std::string path_;
  std::unique_ptr<DirectoryClaim> claim_;
  rocksdb::FileLock* lock_ = nullptr;
  CloneRecord record_;
  bool empty_ = false;  // there was nothing when Prepare looked
  bool finished_ = false;
  bool begun_ = false;
  // What this object may have made, as it was not there.
  std::vector<std::string> made_;
  bool makes_directory_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_CLONE_CLONE_DIRECTORY_H_
