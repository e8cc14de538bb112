// Compares what is stored with what the index says of it, a chunk at a time, so
// that rot is found before a peer needs the pair.

#ifndef ROCKSYNC_REPLICATION_STORE_SCRUB_H_
#define ROCKSYNC_REPLICATION_STORE_SCRUB_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "replication/store/index_entry.h"
#include "replication/store/index_key.h"
#include "replication/store/meta_records.h"
#include "rocksdb/db.h"

namespace rocksync {

class Store;
struct Family;

// A pass reads the families' data in key order, which finds pairs without an
// entry, and then the index in its order, which finds entries without a pair
// and values that do not read. Both compare values with hashes. What seems to
// disagree is looked at again under its lock, since the application writes
// meanwhile; what then still disagrees becomes suspect:
//   a value that does not match its entry, or does not read
//   a pair without an entry
//   a live entry without a pair
//   a tombstone with a pair that was written later, so that its entry is lost
// A tombstone with a pair that was not written later is applied once more.
//
// How far a pass is, is written down every kRecordEvery chunks.
// Not thread-safe, but for progress().
class Scrub {
 public:
  explicit Scrub(Store* store);

  // Reads how far an earlier process came. Once, before everything else.
  rocksdb::Status Load();

  // One chunk of the pass, which begins if none is under way. `*bytes`: of keys
  // and values read. `*finished`: the pass is over. After an error the same
  // chunk is next again.
  rocksdb::Status Step(uint64_t* bytes, bool* finished);

  // What is suspect and what no peer knew better of counts as adopted: a pair
  // gets version 0, an entry without a pair goes. For when every peer has been
  // proven equal since the last pair became suspect. One read of the index;
  // `*settled` counts.
  rocksdb::Status SettleSuspects(const std::function<bool()>& cancelled,
                                 uint64_t* settled);

  bool under_way() const { return record_.running; }
  uint64_t last_finished_ms() const { return record_.finished_ms; }

  struct Progress {
    bool running = false;
    uint64_t pairs = 0;  // compared in this pass, or in the last one
    uint64_t last_finished_ms = 0;
    uint64_t rot_found = 0;  // since opening
  };
  Progress progress() const;

 private:
  static constexpr int kRecordEvery = 64;

  rocksdb::Status Begin();
  rocksdb::Status StepFamilies(uint64_t* bytes);
  rocksdb::Status StepIndex(uint64_t* bytes);
  rocksdb::Status Record();
  const Family* FamilyFrom(uint32_t id) const;

  // Unlocked: false if somebody should look again.
  bool Agrees(const Family& family, std::string_view key,
              const rocksdb::Slice& value);
  // Under the key's lock.
  rocksdb::Status Judge(const Family& family, const std::string& key);
  rocksdb::Status JudgeTombstone(const Family& family, const std::string& key,
                                 const IndexKey& index_key,
                                 const StoredEntry& entry, ValueHash value,
                                 rocksdb::WriteBatch* batch);
  rocksdb::Status Settle(const Family& family, const std::string& key,
                         bool* settled);

  Store* const store_;
  ScrubRecord record_;
  int chunks_ = 0;
  std::atomic<bool> running_{false};
  std::atomic<uint64_t> pairs_{0};
  std::atomic<uint64_t> finished_ms_{0};
  std::atomic<uint64_t> rot_found_{0};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_SCRUB_H_
