// The cluster of real replicas from inside.

#ifndef ROCKSYNC_TESTS_SIMULATION_STORE_STORE_CLUSTER_STATE_H_
#define ROCKSYNC_TESTS_SIMULATION_STORE_STORE_CLUSTER_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/simulation/random.h"
#include "tests/simulation/store/machine.h"
#include "tests/simulation/store/meeting.h"
#include "tests/simulation/store/oracle.h"
#include "tests/simulation/store/store_cluster.h"

namespace rocksync::store_simulation {

// What a seed makes of a run. One in so many steps; 0: never.
struct StoreShape {
  size_t replicas = 2;
  size_t keys = 8;
  uint64_t steps = 80;
  bool members = true;
  uint64_t sync_one_in = 2;  // writes
  uint64_t crash_one_in = 0;
  uint64_t jump_one_in = 0;  // clocks
  uint64_t max_skew_ms = 0;
  uint64_t unreadable_one_in = 0;
  uint64_t corrupt_one_in = 0;
  uint64_t copy_one_in = 0;
  uint64_t roll_back_one_in = 0;
  uint64_t join_one_in = 0;
  uint64_t remove_one_in = 0;
  uint64_t cut_one_in = 0;      // frames
  uint64_t lose_one_in = 0;     // frames
  uint64_t disturb_one_in = 0;  // frames, by something else that happens
  size_t large_value = 0;       // bytes of one value in 10
};
StoreShape StoreShapeOf(uint64_t seed);
std::string Describe(const StoreShape& shape);

// Steps and writes are in store_cluster.cc, how replicas meet and heal in
// store_healing.cc, what happens to disks and members in store_disasters.cc.
class StoreCluster {
 public:
  explicit StoreCluster(const StoreClusterOptions& options);
  ~StoreCluster();

  StoreClusterResult Run();

 private:
  struct Node {
    std::unique_ptr<Machine> machine;
    Durable durable;
    struct Backup {
      ForgetfulDisk disk;
      Durable durable;
    };
    std::optional<Backup> backup;
    int64_t skew_ms = 0;
    int meetings = 0;     // it is in right now
    bool old = false;     // its data are an older state of a member's
    bool fresh = false;   // it joined empty, and is still bootstrapping
    bool as_new = false;  // to be opened as a new replica
    bool shares_id = false;
    bool sick = false;  // RocksDB has stopped writes
    bool gone = false;
    uint64_t readable_ms = 0;  // its disk is, from then on
    size_t number() const { return machine->number(); }
    std::string name() const { return machine->name(); }
    bool up() const {
      return !gone && machine->up() && !machine->disk()->killed();
    }
  };
  // A meeting under way.
  struct Talk {
    Node* sides[2];
    std::set<Key> touched;
    bool all_touched = false;
    bool Has(const Node* node) const {
      return sides[0] == node || sides[1] == node;
    }
  };

  template <typename... Parts>
  void Trace(const Parts&... parts) {
    const std::string line = absl::StrCat(now_ms_ - start_ms_, " ", parts...);
    Fingerprint(line);
    if (options_.trace) options_.trace(line);
  }
  void Fingerprint(std::string_view bytes);
  bool Happens(uint64_t one_in) {
    return one_in > 0 && faulty_ && random_.OneIn(one_in);
  }
  void Pass(uint64_t ms);

  // Steps.
  void Begin();
  void Step();
  void Tidy();
  Node* AddNode(ForgetfulDisk disk, const std::string& directory);
  Node* Somebody();  // who is up, or null
  Node* SomebodyElse(const Node* than);
  std::vector<Node*> Present() const;

  // Writes.
  void WriteSomething(Node* node);
  rocksdb::Status WriteSome(Node* node, const rocksdb::WriteOptions& options,
                            std::map<Key, std::optional<std::string>>* keys);
  rocksdb::Status WriteRange(Node* node, const rocksdb::WriteOptions& options,
                             std::map<Key, std::optional<std::string>>* keys);
  void NoteWritten(Node* node, const std::set<Key>& keys, bool synced);
  std::string NewValue();
  Key SomeKey();

  // Disks and processes.
  void Open(Node* node);
  void CloseCleanly(Node* node);
  void Crash(Node* node);
  void Reap(Node* node);
  void Flush(Node* node);
  void JumpClock(Node* node);
  void MakeUnreadable(Node* node);
  void Corrupt(Node* node);
  void Scrub(Node* node);
  void BackUp(Node* node);
  void RollBack(Node* node);
  void Copy(Node* node);
  void Move(Node* node);
  void Empty(Node* node);
  void Watch(Node* node);
  void PlantLies(Node* node);

  // Members.
  void SetList();
  void Join();
  void Remove();
  void Refused(Node* node, const std::string& why);

  // PeerVerdict and healing.
  void MeetNow(Node* dialer, Node* listener);
  Fate OnFrame(Talk* talk, bool from_dialer, std::string_view frame);
  void Disturb(Talk* talk);
  void NoteProof(Talk* talk);
  void MeetAll();
  void Heal();
  bool AllEqual();
  void ResolveQuarantined();
  void ForgetAll();

  const StoreClusterOptions options_;
  const StoreShape shape_;
  Random random_;
  Oracle oracle_;
  StoreClusterResult result_;
  MachineShape machine_shape_;
  BackgroundWork work_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Talk*> talks_;
  const uint64_t start_ms_ = 1'700'000'000'000;
  uint64_t now_ms_ = start_ms_;
  bool faulty_ = true;
  bool any_corruption_ = false;
  uint64_t values_ = 0;
  uint64_t epoch_ = 0;           // of the newest list that was asked for
  bool list_is_old_ = false;     // another one is due
  Node* operator_at_ = nullptr;  // where setting the last one failed
};

}  // namespace rocksync::store_simulation

#endif  // ROCKSYNC_TESTS_SIMULATION_STORE_STORE_CLUSTER_STATE_H_
