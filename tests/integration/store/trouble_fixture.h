// A store in trouble: index entries that do not read, a disk that fails, writes
// that stall, a stable time that moves, a clock that is set.

#ifndef ROCKSYNC_TESTS_INTEGRATION_STORE_TROUBLE_FIXTURE_H_
#define ROCKSYNC_TESTS_INTEGRATION_STORE_TROUBLE_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "replication/store/store.h"
#include "replication/store/upkeep/pair_check.h"
#include "rocksdb/env.h"
#include "tests/integration/replication/failing_disk.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/wrong_clock.h"

namespace rocksync {

class TroubleTest : public StoreTest {
 protected:
  static constexpr uint64_t kPeer = 99;

  TroubleTest();
  void OpenWithView();
  void TearDown() override;

  Store* store() { return StoreAccess::StoreOf(db_.get()); }
  IndexedDB* indexed() { return StoreAccess::IndexedOf(db_.get()); }
  PairCheck NewCheck() {
    return {indexed(), store()->quarantine(), store()->index_build()};
  }
  Family family() {
    const FamiliesInUse now = indexed()->families();
    return now->families()[0];
  }
  uint64_t Now() { return env_.NowMicros() / 1000 << 16; }

  absl::Status Apply(const Pair& pair,
                     const std::function<bool()>& cancelled = {});
  ApplyOutcome OutcomeOf(const Pair& pair);
  // The same after Stall: the stall ends once Apply has found it, and waits.
  ApplyOutcome OutcomeAfterStall(const Pair& pair);

  std::string IndexKeyOf(const std::string& key);
  StoredEntry EntryOf(const std::string& key);
  bool HasEntry(const std::string& key);
  // Past the store.
  void PutIntoIndex(const std::string& key, const std::string& entry);
  void PutIntoIndex(const std::string& key, const StoredEntry& entry);
  void DamageEntry(const std::string& key) { PutIntoIndex(key, "?"); }

  // A peer that is a member too says that all up to `stable time` is collected.
  void Forget(uint64_t stable_time);

  // Writes past the store until RocksDB stops writes; EndStall lets it go on.
  void Stall();
  void EndStall();

  // Somebody has the locks of all keys, not of one alone.
  bool AllStripesAreHeld();

  std::string Log() const;

  FailingDisk disk_ = MakeFailingDisk();
  WrongClock env_{disk_.env.get()};
  std::unique_ptr<ReplicaView> view_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_STORE_TROUBLE_FIXTURE_H_
