// What a clone asks of its source, once it may: which files, from where, and
// what it says that it has.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "replication/clone/clone_messages.h"
#include "replication/clone/clone_source.h"
#include "replication/peering/admission.h"
#include "replication/peering/replicator_context.h"
#include "rocksdb/env.h"
#include "rocksync/replicated_db.h"
#include "tests/fuzz/fed_connection.h"
#include "tests/support/forgetful_disk.h"

namespace rocksync {
namespace {

constexpr uint64_t kCloneId = 5;

// A small database in memory, for the whole run. It is never closed: what it
// would close by is gone when a process ends.
class Source {
 public:
  Source() : env_(rocksdb::NewCompositeEnv(disk_.Mount())) {
    rocksdb::Options options;
    options.env = env_.get();
    options.create_if_missing = true;
    ReplicatedDBOptions replication;
    replication.cluster_name = "cluster";
    replication.cluster_secret.fill(7);
    ReplicatedDB* db = nullptr;
    if (!ReplicatedDB::Open(options, replication, "/db", &db).ok()) {
      std::abort();
    }
    for (int i = 0; i < 100; ++i) {
      db->Put({}, std::to_string(i), std::string(50, 'v'))
          .PermitUncheckedError();
    }
    replica_ =
        std::make_unique<ReplicatorContext>(ReplicatorOptions(), db, nullptr);
    clones_ = std::make_unique<CloneSource>(replica_.get());
  }

  void Serve(std::string_view input) {
    ClusterSecret secret;
    secret.fill(7);
    Admission admission;
    FedConnection connection(input);
    const CloneAsk ask = {.replica_id = kCloneId, .ticket = ticket_};
    const std::string first =
        AskMessage(secret, admission.auth_hello, admission.challenge, ask);
    clones_->Serve(&connection, admission, first).PermitUncheckedError();
    // The same checkpoint again.
    CloneFiles files;
    if (ReadFiles(connection.said(), &files).ok()) ticket_ = files.ticket;
  }

 private:
  ForgetfulDisk disk_;
  const std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<ReplicatorContext> replica_;
  std::unique_ptr<CloneSource> clones_;
  uint64_t ticket_ = 1;
};

}  // namespace
}  // namespace rocksync

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const source = new rocksync::Source;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  source->Serve(input);
  return 0;
}
