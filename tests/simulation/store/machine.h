// One machine of the simulated cluster: a disk, a clock, and a replica that
// runs or not. What is on the disk outlives the replica.

#ifndef ROCKSYNC_TESTS_SIMULATION_STORE_MACHINE_H_
#define ROCKSYNC_TESTS_SIMULATION_STORE_MACHINE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replication/membership/tombstone_gc.h"
#include "replication/peering/replicator_context.h"
#include "rocksdb/db.h"
#include "rocksync/replicated_db.h"
#include "sketch/element/version.h"
#include "tests/simulation/store/simulated_env.h"
#include "tests/support/forgetful_disk.h"

namespace rocksync::store_simulation {

using Key = std::pair<std::string, std::string>;  // family, key
std::string Name(const Key& key);

// What a replica holds of a key, read from its data and its index.
struct Held {
  bool has_entry = false;
  Version version;
  bool tombstone = false;
  bool quarantined = false;
  std::optional<std::string> value;  // nullopt: no pair
  friend bool operator==(const Held&, const Held&) = default;
};
using Holdings = std::map<Key, Held>;

// How RocksDB is set up, from the seed.
struct MachineShape {
  bool flush_at_recovery = true;
  bool flush_at_shutdown = true;
  bool two_queues = false;  // enable_pipelined_write
  ReplicatorOptions replicator;
  std::function<uint64_t()> random_bits;
  std::function<void(const std::string&)> log;  // empty: nobody listens
};

class Machine {
 public:
  Machine(size_t number, std::string directory, ForgetfulDisk disk,
          BackgroundWork* work, const MachineShape* shape);
  ~Machine();

  // Before the replica exists.
  rocksdb::Status FillPlain(const std::map<Key, std::string>& pairs);

  // The process dies after so many calls that change the disk.
  rocksdb::Status Open(bool copy_as_new, uint64_t dies_after = UINT64_MAX);
  // The seal, and all that was written, durable.
  rocksdb::Status Close();
  // Of a process that is dead: takes what is left of it out of memory.
  void Bury();

  // Does, or waits for, what goes on in the background.
  void Settle();

  // Table files cannot be read for a while.
  void SetReadsFail(bool fail);
  bool reads_fail() const { return reads_fail_; }

  // Whether RocksDB takes no more writes after an error in the background.
  bool HasStopped() const;

  // Every pair and every entry, collected ones too; what disagrees is appended
  // to `wrong`.
  rocksdb::Status Read(Holdings* holdings, std::vector<std::string>* wrong);

  // The entry of a key as it is now.
  rocksdb::Status ReadKey(const Key& key, Held* held);

  rocksdb::ColumnFamilyHandle* Handle(const std::string& family) const;

  size_t number() const { return number_; }
  std::string name() const { return "r" + std::to_string(number_); }
  const std::string& directory() const { return directory_; }
  bool up() const { return db_ != nullptr; }
  ReplicatedDB* db() const { return db_.get(); }
  ReplicatorContext* replica() const { return replica_.get(); }
  uint64_t id() const { return replica_->identity.replica_id; }
  GcState gc() const;
  ForgetfulDisk* disk() { return &disk_; }
  VirtualClock* clock() const { return clock_.get(); }

 private:
  rocksdb::DBOptions DatabaseOptions();
  std::vector<rocksdb::ColumnFamilyDescriptor> Families() const;
  void DropHandles();

  const size_t number_;
  const std::string directory_;
  ForgetfulDisk disk_;
  BackgroundWork* const work_;
  const MachineShape* const shape_;
  const std::shared_ptr<VirtualClock> clock_;
  bool reads_fail_ = false;
  std::shared_ptr<rocksdb::Logger> logger_;
  std::unique_ptr<SimulatedEnv> env_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  std::unique_ptr<ReplicatedDB> db_;
  std::unique_ptr<ReplicatorContext> replica_;
};

// What all machines have.
inline constexpr const char* kFamilies[] = {"default", "orders"};
ReplicatedDBOptions ReplicationOptions();

}  // namespace rocksync::store_simulation

#endif  // ROCKSYNC_TESTS_SIMULATION_STORE_MACHINE_H_
