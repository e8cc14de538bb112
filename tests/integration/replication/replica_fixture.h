// Replicas in a scratch directory: a replicated RocksDB each, with a
// certificate of the cluster's trial CA and a replicator over TLS.

#ifndef ROCKSYNC_TESTS_INTEGRATION_REPLICATION_REPLICA_FIXTURE_H_
#define ROCKSYNC_TESTS_INTEGRATION_REPLICATION_REPLICA_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"
#include "rocksync/tls_transport.h"
#include "tests/support/eventually.h"
#include "tests/support/mentions.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {

using std::chrono::milliseconds;
using Contents = std::map<std::string, std::string>;

class TestReplica {
 public:
  struct Setting {
    std::string directory;         // made if it is not there
    std::string certificates;      // directory of the trial CA
    std::string cluster = "test";  // name
    uint8_t secret = 7;            // each byte of it
    // May change anything before the database is opened.
    std::function<void(rocksdb::Options*, ReplicatedDBOptions*)> adjust;
  };

  explicit TestReplica(Setting setting);
  ~TestReplica();

  // Opens the database; false and `open_status` if that fails.
  bool Open();
  void Close();  // must succeed
  rocksdb::Status TryClose();
  // Whatever still uses it.
  void DeleteDatabase() { db_.reset(); }

  // Starts a replicator that only syncs when asked, unless `options` say
  // otherwise; it listens on a port of the system's choice, the same one again
  // after the first time.
  rocksdb::Status Start(ReplicatorOptions options = OnDemand());
  void Stop() { replicator_.reset(); }
  static ReplicatorOptions OnDemand();
  // Sessions an hour apart: what arrives came by a stream, or by a session that
  // was asked for.
  static ReplicatorOptions Hourly();

  void Put(const std::string& key, const std::string& value);
  void Delete(const std::string& key);
  // Every pair, by a plain scan.
  Contents Scan();

  ReplicatedDB* db() { return db_.get(); }
  Replicator* replicator() { return replicator_.get(); }
  const std::string& address() const { return address_; }
  // Where Start listens from now on.
  void set_address(const std::string& address) { address_ = address; }
  uint64_t id() const { return db_->Identity().replica_id; }
  const rocksdb::Status& open_status() const { return open_status_; }
  const Setting& setting() const { return setting_; }
  // Uses the certificate of this replica instead of its own.
  void BorrowCertificate(uint64_t replica_id) { borrowed_id_ = replica_id; }
  rocksdb::Status NewTransport(std::shared_ptr<Transport>* transport);

 private:
  rocksdb::Status Listen(const ReplicatorOptions& options);

  const Setting setting_;
  rocksdb::Status open_status_;
  std::unique_ptr<ReplicatedDB> db_;
  std::unique_ptr<Replicator> replicator_;
  std::string address_;
  uint64_t borrowed_id_ = 0;
};

// A cluster of replicas that are opened and started.
class ReplicationTest : public ::testing::Test {
 protected:
  TestReplica::Setting SettingOf(const std::string& name) const;
  // Opened, not started.
  std::unique_ptr<TestReplica> NewReplica(const std::string& name);

  const TemporaryDirectory directory_;
};

inline std::string Numbered(const char* prefix, int i) {
  return prefix + std::to_string(i);
}

testing::AssertionResult IsOk(const rocksdb::Status& status);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_REPLICATION_REPLICA_FIXTURE_H_
