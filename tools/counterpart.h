// What an offline replica is compared with: another offline one, or one that
// runs.

#ifndef ROCKSYNC_TOOLS_COUNTERPART_H_
#define ROCKSYNC_TOOLS_COUNTERPART_H_

#include <memory>
#include <string>
#include <vector>

#include "replication/session/session.h"
#include "replication/session/storage_view.h"
#include "rocksdb/status.h"
#include "tools/credentials.h"

namespace rocksync {

class Counterpart {
 public:
  // `where`: a directory, or host:port. `wal_dirs`: offline_db.h. `families`:
  // the replicated ones of the replica to be compared; InvalidArgument if they
  // differ.
  static rocksdb::Status Open(const std::string& where,
                              const Credentials& credentials,
                              const std::vector<std::string>& wal_dirs,
                              const std::vector<std::string>& families,
                              std::unique_ptr<Counterpart>* counterpart);
  virtual ~Counterpart() = default;

  // One session that only compares.
  virtual rocksdb::Status Compare(StorageView* mine, const VerifyTask& task,
                                  SessionReport* report) = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_COUNTERPART_H_
