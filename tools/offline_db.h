// A database that nobody has open, for tools that read it.

#ifndef ROCKSYNC_TOOLS_OFFLINE_DB_H_
#define ROCKSYNC_TOOLS_OFFLINE_DB_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "replication/store/offline/directory_access.h"
#include "replication/store/offline/own_options.h"
#include "rocksdb/comparator.h"
#include "rocksdb/db.h"
#include "rocksdb/status.h"

namespace rocksync {

// What commands are told of logs that are in directories of their own, each as
// "DIR=LOGDIR". InvalidArgument: one names a directory that is none of these.
rocksdb::Status CheckWalDirs(const std::vector<std::string>& wal_dirs,
                             const std::vector<std::string>& directories);
// Empty: nothing is said of `directory`.
std::string WalDirOf(const std::vector<std::string>& wal_dirs,
                     const std::string& directory);

// InvalidArgument: both are one directory, by whatever names.
rocksdb::Status CheckTwoDirectories(const std::string& left,
                                    const std::string& right);

inline constexpr char kPlainAlready[] = "it is a plain database already";
inline constexpr char kNoReplica[] = "it is a plain database, not a replica";

// For commands that are of no use on other databases. NotFound: it is a plain
// one; `if_plain` says so. IOError: it is none, or may not be read.
rocksdb::Status CheckHasIndex(const std::string& directory,
                              const char* if_plain);

// IOError: nothing of a database is in `directory`, not even what `repair`
// makes one of. Of one that is not there nothing is said.
rocksdb::Status CheckSomethingIsLeft(const std::string& directory);

// Opened read-only: nothing in the directory changes. Locked like an open
// database, so that nobody writes to it meanwhile. With the database's own
// options (own_options.h). InvalidArgument: the log has Merge records of a
// family whose merge operator RocksDB cannot make by its name.
class OfflineDB {
 public:
  // IOError: it is open somewhere, is not there, or may not be locked.
  static rocksdb::Status Open(const std::string& directory,
                              const std::vector<std::string>& wal_dirs,
                              std::unique_ptr<OfflineDB>* db,
                              DamagedLog damaged_log = DamagedLog::kRefused);
  // For what the index says alone: the application's comparators and merge
  // operators are not needed, and families() has none but "default", which is
  // not to be read.
  static rocksdb::Status OpenIndex(const std::string& directory,
                                   const std::vector<std::string>& wal_dirs,
                                   std::unique_ptr<OfflineDB>* db);
  ~OfflineDB();

  rocksdb::DB* db() const { return db_.get(); }

  // Of all families, the index included.
  const std::vector<rocksdb::ColumnFamilyHandle*>& handles() const {
    return handles_;
  }

  // The application's families by name; the index is left out.
  const std::map<std::string, rocksdb::ColumnFamilyHandle*>& families() const {
    return families_;
  }

 private:
  OfflineDB() = default;
  // `*db` is null if either fails.
  static rocksdb::Status LockAndOpen(
      const std::string& directory, std::unique_ptr<OfflineDB>* db,
      absl::FunctionRef<rocksdb::Status(OfflineDB* locked)> open);
  rocksdb::Status Lock(const std::string& directory);
  rocksdb::Status OpenLocked(const std::string& directory,
                             const std::string& wal_dir,
                             DamagedLog damaged_log);
  rocksdb::Status OpenIndexLocked(const std::string& directory,
                                  const std::string& wal_dir);
  rocksdb::Status OpenFamilies(const OwnOptions& own,
                               const std::string& directory);

  std::unique_ptr<DirectoryLock> lock_;
  std::unique_ptr<rocksdb::Comparator> stand_in_;  // of an index's opening
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  std::map<std::string, rocksdb::ColumnFamilyHandle*> families_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_OFFLINE_DB_H_
