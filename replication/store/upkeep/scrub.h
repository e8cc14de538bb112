// Compares what is stored with what the index says of it, a chunk at a time, so
// that corruption is found before a peer needs the pair.

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_SCRUB_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_SCRUB_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/index/index_reader.h"
#include "replication/store/upkeep/index_build.h"
#include "replication/store/upkeep/pair_check.h"
#include "replication/store/upkeep/quarantine.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/db.h"

namespace rocksync {

// Scrubs the database in passes. A pass reads the families' data in key order,
// which finds pairs without an entry, and then the index in its order, which
// finds entries without a pair and values that do not read. Both compare values
// with hashes. What seems to disagree is looked at again under its lock, since
// the application writes meanwhile; what then still disagrees is quarantined:
//   a value that does not match its entry, or that RocksDB reports corrupt
//   a pair without an entry, or with one that does not parse
//   a live entry without a pair
//   a tombstone with a pair that was written later, so that its entry is lost
//   a tombstone whose hash is not that of its version
// A tombstone with a pair that was not written later is applied once more. An
// entry with one flipped bit is repaired; one that stands where no key has its
// entry is moved back or removed. A quarantined pair that matches again is
// released.
//
// A read that fails decides nothing. The chunk is read again, a few times. Then
// what does not read is passed over until the next pass: a key or, where
// neither the data nor the index go on, what SeekBehind finds to be damaged.
// Pairs in a range of the data that was passed over are compared by way of the
// index; only those without an entry are not found. A pass in which much does
// not read ends all the same: it tries again kMaxRetries times in vain.
//
// The progress of a pass is written down every kRecordEvery chunks. Not
// thread-safe, except progress().
class Scrub {
 public:
  Scrub(IndexedDB* indexed, Quarantine* quarantine, IndexBuild* index_build);

  // Reads how far an earlier process came. REQUIRES: called once, before
  // everything else.
  rocksdb::Status Load();

  // Scrubs one chunk of the pass, which begins if none is under way. `*bytes`
  // are those of keys and values read. `*finished`: the pass is over. After an
  // error the same chunk is next again, except for what was passed over.
  rocksdb::Status Step(uint64_t* bytes, bool* finished);

  // Resolves quarantined pairs of which no peer has a later version: a pair
  // becomes unversioned, an entry without a pair is removed; `*resolved` counts
  // them. Reads the index once. For when the digests of every peer were equal
  // since the last pair was quarantined.
  rocksdb::Status ResolveQuarantined(const std::function<bool()>& cancelled,
                                     uint64_t* resolved);

  // Returns whether the latest Step failed in writing down how far the pass is.
  // Trying again helps once RocksDB writes again, and nothing is passed over
  // meanwhile.
  bool cannot_write() const { return cannot_write_; }

  // Returns the status of the latest pass, finished or not. Incomplete:
  // something was passed over.
  rocksdb::Status pass_status() const { return pass_status_; }

  bool under_way() const { return record_.running; }
  uint64_t last_finished_ms() const { return record_.finished_ms; }

  struct Progress {
    bool running = false;
    uint64_t pairs = 0;  // compared in this pass, or in the last one
    uint64_t last_finished_ms = 0;
    uint64_t corruption_found = 0;  // since opening
    uint64_t unreadable = 0;        // passed over since opening, by any pass
  };
  Progress progress() const;

 private:
  static constexpr int kRecordEvery = 64;
  static constexpr int kTries = 3;  // of a chunk, before it is passed over
  static constexpr int kMaxRetries = 12;  // in vain, in a pass

  // A part of a family's data that was not read in order: behind `from` (empty:
  // from the beginning) and before `to` (nullopt: up to the end).
  struct Missed {
    uint32_t family_id = 0;
    std::string from;
    std::optional<std::string> to;
  };

  rocksdb::Status Begin();
  rocksdb::Status StepFamilies(uint64_t* bytes);
  rocksdb::Status StepIndex(uint64_t* bytes);
  rocksdb::Status Record();
  rocksdb::Status ReadMetaRecords(uint64_t* bytes);
  static const Family* FamilyFrom(const FamilyTable& families, uint32_t id);

  // Returns whether pair and entry agree, without a lock; if not, the key has
  // to be looked at again under its lock.
  bool Agrees(const Family& family, std::string_view key,
              const rocksdb::Slice& value);
  rocksdb::Status Check(const Family& family, const std::string& key);
  // Looks at the entry under the cursor.
  rocksdb::Status LookAt(const IndexCursor& cursor, uint64_t* bytes);
  // Moves from where the iterator stopped with an error to what reads behind
  // it, or to the end. Not OK: try again first.
  rocksdb::Status SkipPairs(const Family& family,
                            std::unique_ptr<rocksdb::Iterator>* pair);
  void SkipEntries(const rocksdb::Status& status, IndexCursor* cursor);
  // Returns whether the key is in what SkipPairs skipped.
  bool WasMissed(const Family& family, const std::string& key) const;
  // Returns whether to try again after an error. False: it was met too often;
  // go on behind.
  bool TryAgain(const rocksdb::Status& status);
  void PassOver(const rocksdb::Status& status, const std::string& where,
                uint64_t* count);

  IndexedDB* const indexed_;
  Quarantine* const quarantine_;
  IndexBuild* const index_build_;
  PairCheck check_;
  ScrubRecord record_;
  int chunks_ = 0;
  int tries_ = 0;         // of the present chunk, which failed
  int retries_ = 0;       // in this pass, but for those that helped
  bool in_vain_ = false;  // the present chunk passed over something
  bool cannot_write_ = false;
  rocksdb::Status pass_status_;
  uint64_t keys_passed_over_ = 0;  // in this pass
  uint64_t ranges_passed_over_ = 0;
  std::vector<Missed> missed_;  // the first ranges of this pass
  std::atomic<bool> running_{false};
  std::atomic<uint64_t> pairs_{0};
  std::atomic<uint64_t> finished_ms_{0};
  std::atomic<uint64_t> corruption_found_{0};
  std::atomic<uint64_t> unreadable_{0};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_SCRUB_H_
