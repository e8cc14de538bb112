// A disk in memory that knows what was synced: of files how much of them, of
// directories which of their entries. What was not is forgotten when the power
// goes, all of it or all from some point on, as a journal would.

#ifndef ROCKSYNC_TESTS_SUPPORT_FORGETFUL_DISK_H_
#define ROCKSYNC_TESTS_SUPPORT_FORGETFUL_DISK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "rocksdb/file_system.h"

namespace rocksync {

// Thread-safe.
class ForgetfulDisk {
 public:
  // Uniform in [0, n), n > 0.
  using Chance = std::function<uint64_t(uint64_t n)>;

  ForgetfulDisk();
  ~ForgetfulDisk();
  ForgetfulDisk(ForgetfulDisk&& other) noexcept;
  ForgetfulDisk& operator=(ForgetfulDisk&& other) noexcept;

  // For one process. Files keep it alive; it may outlive the disk.
  std::shared_ptr<rocksdb::FileSystem> Mount();

  // The process that has it mounted dies: nothing that it does from now on, or
  // from its `calls`-th call that changes anything on, has an effect on this
  // disk. It does not notice, and goes on with one of its own until it is taken
  // down; what it acknowledges meanwhile, nobody hears.
  void Kill();
  void KillAfter(uint64_t calls);
  // Since the last Mount.
  bool killed() const;
  // Calls that changed anything, since then.
  uint64_t calls() const;

  // Without it, after Kill, what was written is there, though a later loss of
  // power may still take it. Some of what was not synced may be there: of a
  // file's tail and of a directory's changes a first part. Returns how many
  // bytes are gone.
  uint64_t LosePower(const Chance& chance);

  // What is on it now, as of a snapshot of the volume, all of it synced, and
  // the directory `from` being called `to`.
  ForgetfulDisk Copy(const std::string& from, const std::string& to) const;

  // Reads of files whose names end in `suffix` fail; "": no more.
  void FailReads(std::string suffix);

  // Called before a sync with what it would make durable of the file; if true
  // the sync does nothing, and says OK. For planted faults.
  using Liar =
      std::function<bool(const std::string& file, std::string_view unsynced)>;
  void LieAboutSyncs(Liar liar);

  // Flips a bit within the first of these bytes in a file of which the name
  // ends in `suffix`. False: they are in none.
  bool FlipBit(std::string_view bytes, std::string_view suffix);

 private:
  struct Image;
  struct State;
  friend class ForgetfulFileSystem;
  explicit ForgetfulDisk(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_FORGETFUL_DISK_H_
