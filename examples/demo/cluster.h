// Replica processes on this machine, each with a directory, a log and two
// ports.

#ifndef EXAMPLES_DEMO_CLUSTER_H_
#define EXAMPLES_DEMO_CLUSTER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/status.h"

namespace rocksync {

class Cluster {
 public:
  // `program` is the path of replicated_store; everything the replicas write
  // goes below `directory`, which exists.
  Cluster(std::string program, std::string directory, size_t replicas);

  // Kills what still runs, and waits for it.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Starts all replicas and waits until they answer. They sync with each other
  // about every `sync_interval_ms`. With `pages` each has a status page that
  // shows the others.
  rocksdb::Status Start(uint64_t sync_interval_ms, bool pages = false);

  // Starts one again that has ended, or was killed.
  rocksdb::Status StartReplica(size_t i);

  // SIGKILL, and waits for the end.
  void Kill(size_t i);

  // SIGTERM to all, with pages first to the first one; IOError names one that
  // does not end well.
  rocksdb::Status Stop();

  size_t size() const { return replicas_.size(); }
  uint16_t redis_port(size_t i) const { return replicas_[i].redis_port; }
  std::string address(size_t i) const;    // where peers connect
  std::string page(size_t i) const;       // host:port of the status page
  std::string directory(size_t i) const;  // of the database
  std::string log(size_t i) const;

 private:
  struct Replica {
    std::string name;
    uint16_t redis_port = 0;
    uint16_t peer_port = 0;
    uint16_t page_port = 0;  // 0: no page
    pid_t pid = -1;          // -1: not running
  };

  rocksdb::Status Spawn(Replica* replica);
  rocksdb::Status WaitUntilReady(Replica* replica);
  static void Terminate(const Replica& replica);
  rocksdb::Status WaitUntilStopped(size_t i);
  std::string LastLines(const Replica& replica) const;

  const std::string program_;
  const std::string directory_;
  uint64_t sync_interval_ms_ = 0;
  std::vector<Replica> replicas_;
};

}  // namespace rocksync

#endif  // EXAMPLES_DEMO_CLUSTER_H_
