// A process that clone_test kills: one that serves a source, or one that
// clones.
//   clone_child serve DIRECTORY CERTIFICATES         says its address, and
//                                                    serves slowly
//   clone_child clone DIRECTORY CERTIFICATES SOURCE  says "half" once half is
//                                                    there

#include "tests/integration/replication/clone_child.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "rocksync/clone.h"
#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"
#include "tests/support/trial_transport.h"

namespace rocksync {
namespace {

bool Succeeds(const rocksdb::Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok();
}

ReplicatedDBOptions ReplicationOptions() {
  ReplicatedDBOptions options;
  options.cluster_name = "test";
  options.cluster_secret.fill(7);
  return options;
}

bool MakeTransport(const std::string& certificates, uint64_t id,
                   std::shared_ptr<Transport>* transport) {
  return Succeeds(NewTrialTransport(certificates, id, transport));
}

void Say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

int Serve(const std::string& directory, const std::string& certificates) {
  rocksdb::Options options;
  options.disable_auto_compactions = true;
  ReplicatedDB* raw = nullptr;
  if (!Succeeds(
          ReplicatedDB::Open(options, ReplicationOptions(), directory, &raw))) {
    return 1;
  }
  const std::unique_ptr<ReplicatedDB> db(raw);
  std::shared_ptr<Transport> transport;
  if (!MakeTransport(certificates, db->Identity().replica_id, &transport)) {
    return 1;
  }
  ReplicatorOptions serving;
  serving.listen_address = "127.0.0.1:0";
  serving.interval = std::chrono::milliseconds(0);
  serving.limits.bytes_per_second = kServedBytesPerSecond;
  std::unique_ptr<Replicator> replicator;
  if (!Succeeds(Replicator::Start(serving, db.get(), transport, &replicator))) {
    return 1;
  }
  Say(replicator->listen_address());
  while (std::getchar() != EOF) {
  }
  return 0;
}

int Clone(const std::string& directory, const std::string& certificates,
          const std::string& source) {
  CloneOptions clone;
  clone.source = source;
  if (!MakeTransport(certificates, kClonedId, &clone.transport)) return 1;
  bool said = false;
  clone.progress = [&said](const CloneProgress& progress) {
    if (said || progress.bytes == 0 ||
        progress.bytes_done < progress.bytes / 2) {
      return;
    }
    said = true;
    Say("half");
  };
  CloneResult result;
  return Succeeds(ReplicatedDB::Clone({}, ReplicationOptions(), directory,
                                      {{rocksdb::kDefaultColumnFamilyName, {}}},
                                      clone, &result))
             ? 0
             : 1;
}

}  // namespace
}  // namespace rocksync

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "serve") == 0) {
    return rocksync::Serve(argv[2], argv[3]);
  }
  if (argc == 5 && std::strcmp(argv[1], "clone") == 0) {
    return rocksync::Clone(argv[2], argv[3], argv[4]);
  }
  return 2;
}
