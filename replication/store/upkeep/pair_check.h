// Decides what is done where a pair and its index entry disagree
// (examination.h). Everything that finds a pair uncertain asks here: the scrub,
// and a session whose value does not match.
//
// An error is not a fact. A pair that RocksDB cannot read now may read well in
// a moment; that decides nothing. Corruption that RocksDB reports is damage,
// but a read that ends short looks just like it. So it makes a pair
// quarantined, which keeps its entry and is released as soon as it reads and
// matches. The same holds for a pair whose file is not there (IsPathNotFound;
// RocksDB opens a database that lost a blob file): it is absent, and comes back
// from a peer as any absent pair does.
//
// A wide-column entity is nothing that an entry could stand for. It becomes
// quarantined, so that it is neither shipped nor called equal, and only what is
// newer than its entry replaces it: a peer has at best one of its columns.
//
// A foreign write is not damage: while data may not all be in the index
// (foreign_writes.h), no pair is quarantined, and the answer is TryAgain.

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_PAIR_CHECK_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_PAIR_CHECK_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/index/family_table.h"
#include "replication/store/index/index_reader.h"
#include "replication/store/upkeep/examination.h"
#include "replication/store/upkeep/index_build.h"
#include "replication/store/upkeep/quarantine.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/db.h"

namespace rocksync {

// Examines a pair under its lock and writes down what follows.
class PairCheck {
 public:
  enum class Finding : uint8_t {
    kFine,      // or it was quarantined before, and still is
    kReleased,  // quarantined before, and not any more
    kRepaired,  // a bit of the entry had flipped
    kDeletedAgain,
    kMarked,   // quarantined from now on
    kRemoved,  // an entry that belongs to no key
  };

  PairCheck(IndexedDB* indexed, Quarantine* quarantine, IndexBuild* index_build)
      : indexed_(indexed), quarantine_(quarantine), index_build_(index_build) {}

  // Checks a pair. After any error nothing was decided.
  rocksdb::Status Check(const Family& family, const std::string& key,
                        Finding* finding);

  // Resolves, after another look, what no peer has a later pair of: a
  // quarantined pair becomes unversioned, a quarantined entry without a pair is
  // removed.
  rocksdb::Status Resolve(const Family& family, const std::string& key,
                          bool* resolved);

  // Checks an entry whose index key does not parse, or that stands where no key
  // of its family has its entry. Moves it to where it belongs if one bit of its
  // key had flipped, else removes it.
  rocksdb::Status CheckStray(const std::string& index_key, Finding* finding);

 private:
  // Moves a stray entry to where it belongs, if that is known and nothing is
  // there, or removes it. kFine: it is gone already.
  // REQUIRES: the stripe of `to` is held.
  rocksdb::Status MoveStray(const std::string& index_key, const IndexKey* to,
                            Finding* finding);

  // Whether the entry of these bytes is a tombstone, and the key has a pair. Of
  // a stray one it is not believed then: a re-check, which found no pair where
  // the entry stood, may have made it of the pair's own entry. REQUIRES: the
  // key's stripe is held.
  rocksdb::Status WouldDelete(const std::string& bytes, const IndexKey& key,
                              bool* deletes) const;

  // What follows from an examination.
  struct Decision {
    enum class Action : uint8_t {
      kStore,   // `entry`, unless the finding is kFine
      kKeep,    // what is stored stays
      kRemove,  // the entry goes, unless the finding is kFine
    };
    Action action = Action::kStore;
    Finding finding = Finding::kFine;
    StoredEntry entry;
    rocksdb::WriteBatch batch;  // what is written before the entry
  };
  rocksdb::Status Decide(const Family& family, const IndexKey& key,
                         const Examination& found, Decision* decision);
  static void MarkUnless(bool quarantined, const Examination& found,
                         Decision* decision);
  // Stores the decision. `*finding` is the decision's, which does not hold
  // after an error.
  rocksdb::Status Store(const Family& family, const IndexKey& key,
                        const Examination& found, Decision* decision,
                        Finding* finding);
  rocksdb::Status JudgeShowing(const Family& family, const IndexKey& key,
                               const StoredEntry& entry, StoredEntry* judged,
                               rocksdb::WriteBatch* batch, Finding* finding);
  rocksdb::Status Write(rocksdb::WriteBatch* batch, Finding finding);
  void Count(Finding finding);
  void Log(const Family& family, const std::string& key,
           const Examination& found, Finding finding) const;

  IndexedDB* const indexed_;
  Quarantine* const quarantine_;
  IndexBuild* const index_build_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_PAIR_CHECK_H_
