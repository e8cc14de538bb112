// Corruption is found, is not spread, and is repaired from a peer; no write is
// lost and no delete undone by it.

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "replication/store/format/index_key.h"
#include "replication/store/store_access.h"
#include "replication/store/write/indexed_db.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/integration/store/index_equals_data.h"
#include "tests/sanitized.h"
#include "tests/support/wrong_clock.h"

namespace rocksync {
namespace {

// Of bits that are flipped one by one; prime to 8.
constexpr size_t kBitStep = kSanitized ? 5 : 1;

class ScrubTest : public ReplicationTest {
 protected:
  void SetUp() override {
    a_ = NewReplica("a");
    b_ = NewReplica("b");
    ASSERT_TRUE(IsOk(b_->Start()));
    ReplicatorOptions options = TestReplica::OnDemand();
    options.peers = {b_->address()};
    ASSERT_TRUE(IsOk(a_->Start(options)));
    for (int i = 0; i < 1000; ++i) a_->Put(Numbered("k", i), "value");
    a_->Delete("k999");
    Sync();
    contents_ = a_->Scan();
  }

  void Sync() { ASSERT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address()))); }
  ScrubStats Scrub(TestReplica* replica) {
    EXPECT_TRUE(IsOk(replica->replicator()->ScrubNow()));
    return replica->replicator()->stats().scrub;
  }
  bool Equal() {
    VerifyOptions options;
    options.in_flight_wait = milliseconds(0);
    VerifyResult result;
    EXPECT_TRUE(IsOk(
        a_->replicator()->Verify(b_->address(), options, nullptr, &result)));
    return result.equal;
  }

  // Where the index has a key of the first family; `key` must outlive it.
  static IndexKey KeyIn(IndexedDB* store, std::string_view key) {
    const FamiliesInUse now = store->families();
    return {store->reader().hasher().Position("default", key),
            now->families()[0].id, key};
  }

  // Bypasses rocksync, as a disk would.
  static void Corrupt(TestReplica* replica, const std::string& key,
                      const std::string& value) {
    ASSERT_TRUE(IsOk(StoreAccess::IndexedOf(replica->db())
                         ->db()
                         ->Put(rocksdb::WriteOptions(), key, value)));
  }
  static void LosePair(TestReplica* replica, const std::string& key) {
    ASSERT_TRUE(IsOk(StoreAccess::IndexedOf(replica->db())
                         ->db()
                         ->Delete(rocksdb::WriteOptions(), key)));
  }
  static void LoseEntry(TestReplica* replica, const std::string& key) {
    IndexedDB* const store = StoreAccess::IndexedOf(replica->db());
    std::string index_key;
    AppendIndexKey(&index_key, KeyIn(store, key));
    store->digests()->Invalidate();
    ASSERT_TRUE(IsOk(store->db()->Delete(rocksdb::WriteOptions(),
                                         store->reader().index(), index_key)));
  }

  // An entry as bytes, bypassing rocksync; empty: none.
  static std::string EntryBytes(TestReplica* replica, const std::string& key) {
    IndexedDB* const store = StoreAccess::IndexedOf(replica->db());
    std::string index_key;
    AppendIndexKey(&index_key, KeyIn(store, key));
    std::string bytes;
    (void)store->db()->Get({}, store->reader().index(), index_key, &bytes);
    return bytes;
  }
  static void SetEntryBytes(TestReplica* replica, const std::string& key,
                            const std::string& bytes) {
    IndexedDB* const store = StoreAccess::IndexedOf(replica->db());
    std::string index_key;
    AppendIndexKey(&index_key, KeyIn(store, key));
    store->digests()->Invalidate();
    ASSERT_TRUE(
        IsOk(store->db()->Put({}, store->reader().index(), index_key, bytes)));
  }
  // Completes all hashes, as time does.
  static void FlushIndex(TestReplica* replica) {
    IndexedDB* const store = StoreAccess::IndexedOf(replica->db());
    ASSERT_TRUE(IsOk(store->db()->Flush({}, store->reader().index())));
  }
  // Equal but for pairs that are quarantined.
  rocksdb::Status SyncWithQuarantined() {
    const rocksdb::Status status = a_->replicator()->SyncNow(b_->address());
    EXPECT_TRUE(status.ok() || status.IsIncomplete()) << status.ToString();
    return status;
  }
  // Within a few sessions, the first of which may find the damage.
  bool SyncsAgain() {
    for (int i = 0; i < 3; ++i) {
      if (a_->replicator()->SyncNow(b_->address()).ok()) return true;
    }
    return false;
  }

  std::unique_ptr<TestReplica> a_;
  std::unique_ptr<TestReplica> b_;
  Contents contents_;
};

TEST_F(ScrubTest, NothingIsWrong) {
  const ScrubStats stats = Scrub(a_.get());
  EXPECT_EQ(stats.corruption_found, 0u);
  EXPECT_EQ(stats.pairs_compared, 999u);
  EXPECT_FALSE(stats.running);
  EXPECT_GT(stats.last_finished_ms, 0u);
  EXPECT_TRUE(Equal());
}

TEST_F(ScrubTest, AFlippedBitIsRepairedFromThePeer) {
  Corrupt(a_.get(), "k5", "valuf");
  EXPECT_TRUE(Equal()) << "the index alone does not show it";
  EXPECT_EQ(Scrub(a_.get()).corruption_found, 1u);
  EXPECT_EQ(a_->db()->GetIndexStats().pairs_quarantined, 1u);
  EXPECT_FALSE(Equal()) << "it is no element any more";
  Sync();
  EXPECT_EQ(a_->Scan(), contents_);
  EXPECT_EQ(b_->Scan(), contents_) << "corruption is not spread";
  EXPECT_TRUE(Equal());
  EXPECT_EQ(a_->replicator()->stats().scrub.repaired, 1u);
  EXPECT_EQ(Scrub(a_.get()).corruption_found, 1u) << "no more was found";
}

TEST_F(ScrubTest, ALostEntryIsRepairedFromThePeer) {
  LoseEntry(a_.get(), "k6");
  EXPECT_EQ(Scrub(a_.get()).corruption_found, 1u);
  Sync();
  EXPECT_EQ(a_->Scan(), contents_);
  EXPECT_EQ(b_->Scan(), contents_);
  EXPECT_TRUE(Equal());
}

TEST_F(ScrubTest, ALostPairIsRepairedFromThePeer) {
  LosePair(a_.get(), "k7");
  EXPECT_EQ(Scrub(a_.get()).corruption_found, 1u);
  Sync();
  EXPECT_EQ(a_->Scan(), contents_);
  EXPECT_EQ(b_->Scan(), contents_) << "a lost pair is no delete";
  EXPECT_TRUE(Equal());
}

TEST_F(ScrubTest, ALostEntryOfADeletedKeyUndoesNoDelete) {
  LoseEntry(a_.get(), "k999");
  Corrupt(a_.get(), "k999", "value");
  EXPECT_EQ(Scrub(a_.get()).corruption_found, 1u);
  Sync();
  EXPECT_EQ(a_->Scan(), contents_) << "the peer's tombstone wins";
  EXPECT_EQ(b_->Scan(), contents_);
  EXPECT_TRUE(Equal());
}

// The delete's record is lost and an older one of the data shows again: the
// entry is the later, so it is the truth.
TEST_F(ScrubTest, ADeleteThatWasLostIsDoneAgain) {
  a_->Put("old", "value");
  Sync();
  a_->Delete("old");  // and the peer does not know of it
  // The same entry again, now later than the data that come back.
  IndexedDB* const store = StoreAccess::IndexedOf(a_->db());
  const IndexKey key = KeyIn(store, "old");
  StoredEntry entry;
  ASSERT_TRUE(IsOk(store->reader().Get(key, &entry)));
  Corrupt(a_.get(), "old", "value");
  rocksdb::WriteBatch batch;
  store->PutEntry(&batch, key, entry);
  ASSERT_TRUE(IsOk(store->db()->Write(rocksdb::WriteOptions(), &batch)));
  EXPECT_EQ(a_->Scan().count("old"), 1u);

  EXPECT_EQ(Scrub(a_.get()).corruption_found, 1u);
  EXPECT_EQ(a_->db()->GetIndexStats().pairs_quarantined, 0u);
  EXPECT_EQ(a_->Scan(), contents_);
  Sync();
  EXPECT_EQ(b_->Scan(), contents_) << "and it arrives at the peer";
}

TEST_F(ScrubTest, ALaterWriteWinsOverSuspicion) {
  Corrupt(a_.get(), "k8", "valuf");
  EXPECT_EQ(Scrub(a_.get()).corruption_found, 1u);
  a_->Put("k8", "rewritten");
  Sync();
  contents_["k8"] = "rewritten";
  EXPECT_EQ(a_->Scan(), contents_);
  EXPECT_EQ(b_->Scan(), contents_);
}

TEST_F(ScrubTest, WhatNoPeerHasALaterVersionOfBecomesUnversioned) {
  a_->Put("mine alone", "value");
  LoseEntry(a_.get(), "mine alone");
  EXPECT_EQ(Scrub(a_.get()).corruption_found, 1u);
  EXPECT_EQ(b_->Scan().count("mine alone"), 0u);
  // The digests are equal, and the peer did not know the key.
  ASSERT_TRUE(Eventually([&] {
    (void)SyncWithQuarantined();
    return a_->replicator()->stats().scrub.resolved == 1;
  }));
  Sync();
  contents_["mine alone"] = "value";
  EXPECT_EQ(a_->Scan(), contents_);
  EXPECT_EQ(b_->Scan(), contents_) << "not lost";
}

// b has no peers of its own to dial.
TEST_F(ScrubTest, AListenerResolvesOnceItsDigestsEqualThoseOfAllMembers) {
  b_->Put("mine alone", "value");
  LoseEntry(b_.get(), "mine alone");
  EXPECT_EQ(Scrub(b_.get()).corruption_found, 1u);
  const uint64_t absent = 77;
  const uint64_t a = a_->db()->Identity().replica_id;
  const uint64_t b = b_->db()->Identity().replica_id;
  ASSERT_TRUE(IsOk(a_->db()->SetMembers(1, {a, b, absent})));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(SyncWithQuarantined().IsIncomplete());
    // A pass begins behind the decision what to resolve.
    EXPECT_EQ(Scrub(b_.get()).resolved, 0u)
        << "the absent member may know better";
  }

  ASSERT_TRUE(IsOk(a_->db()->SetMembers(2, {a, b})));
  ASSERT_TRUE(Eventually([&] {
    (void)SyncWithQuarantined();
    return b_->replicator()->stats().scrub.resolved == 1;
  }));
  Sync();
  contents_["mine alone"] = "value";
  EXPECT_EQ(a_->Scan(), contents_);
  EXPECT_EQ(b_->Scan(), contents_);
}

// Both hold the version with a value that matches their entry: the bit flipped
// before the value was hashed.
TEST_F(ScrubTest, OtherContentAtOneVersionIsResolvedByHash) {
  for (TestReplica* damaged : {a_.get(), b_.get()}) {
    IndexedDB* const store = StoreAccess::IndexedOf(damaged->db());
    for (int i = 0; i < 20; ++i) {
      const std::string name = Numbered("k", 10 + i);
      const IndexKey key = KeyIn(store, name);
      StoredEntry entry;
      ASSERT_TRUE(IsOk(store->reader().Get(key, &entry)));
      const std::string value = damaged == a_.get() ? "here" : "there";
      const std::string_view view = value;
      rocksdb::WriteBatch batch;
      ASSERT_TRUE(IsOk(batch.Put(name, value)));
      store->PutEntry(&batch, key, IssuedEntry(entry.version, &view));
      store->digests()->Invalidate();
      ASSERT_TRUE(IsOk(store->db()->Write(rocksdb::WriteOptions(), &batch)));
    }
  }
  EXPECT_EQ(Scrub(a_.get()).corruption_found, 0u);
  EXPECT_EQ(Scrub(b_.get()).corruption_found, 0u);
  EXPECT_FALSE(Equal());
  Sync();
  EXPECT_TRUE(Equal());
  EXPECT_EQ(a_->Scan(), b_->Scan());
}

// One side's value does not match its entry: that one is the corruption,
// whatever the hashes.
TEST_F(ScrubTest, CorruptionLosesAgainstItsOwnVersion) {
  IndexedDB* const store = StoreAccess::IndexedOf(a_->db());
  for (int i = 0; i < 20; ++i) {
    const std::string name = Numbered("k", 10 + i);
    const IndexKey key = KeyIn(store, name);
    StoredEntry entry;
    ASSERT_TRUE(IsOk(store->reader().Get(key, &entry)));
    entry.pending = false;
    ++entry.hash_low;  // the entry is corrupted
    rocksdb::WriteBatch batch;
    store->PutEntry(&batch, key, entry);
    store->digests()->Invalidate();
    ASSERT_TRUE(IsOk(store->db()->Write(rocksdb::WriteOptions(), &batch)));
  }
  for (int i = 0; i < 3 && !Equal(); ++i) {
    (void)a_->replicator()->SyncNow(b_->address());
  }
  EXPECT_TRUE(Equal());
  EXPECT_EQ(a_->Scan(), contents_);
  EXPECT_EQ(b_->Scan(), contents_);
}

// Any bit of a tombstone's entry or of a live one's: its hash tells which.
TEST_F(ScrubTest, AFlippedBitOfAnEntryIsFlippedBack) {
  FlushIndex(a_.get());
  const IndexStats before = a_->db()->GetIndexStats();
  uint64_t flipped = 0;
  for (const char* key : {"k999", "k5"}) {
    const std::string bytes = EntryBytes(a_.get(), key);
    ASSERT_EQ(bytes.size(), 25u);
    for (size_t bit = 0; bit < 8 * bytes.size(); bit += kBitStep) {
      if (bit == 2) continue;  // quarantined: released
      SetEntryBytes(a_.get(), key, WithBitFlipped(bytes, bit));
      Scrub(a_.get());
      ASSERT_EQ(EntryBytes(a_.get(), key), bytes) << key << " bit " << bit;
      ++flipped;
    }
    SetEntryBytes(a_.get(), key, WithBitFlipped(bytes, 2));
    Scrub(a_.get());
    EXPECT_EQ(EntryBytes(a_.get(), key), bytes) << key;
  }
  const IndexStats stats = a_->db()->GetIndexStats();
  EXPECT_EQ(stats.entries_repaired - before.entries_repaired, flipped);
  EXPECT_EQ(stats.pairs_released - before.pairs_released, 2u);
  EXPECT_EQ(stats.pairs_quarantined, 0u);
  EXPECT_TRUE(Equal());
  EXPECT_EQ(a_->Scan(), contents_);
}

// Without a scrub: whoever meets it has it looked at, and what else there is
// goes on.
TEST_F(ScrubTest, AFlippedBitOfATombstoneStopsNoSession) {
  a_->Put("gone", "value");
  Sync();
  a_->Delete("gone");
  FlushIndex(a_.get());
  std::string bytes = EntryBytes(a_.get(), "gone");
  SetEntryBytes(a_.get(), "gone", WithBitFlipped(bytes, 8 * 20));
  a_->Put("unrelated", "value");
  EXPECT_TRUE(SyncsAgain());
  contents_["unrelated"] = "value";
  EXPECT_EQ(a_->Scan(), contents_);
  EXPECT_EQ(b_->Scan(), contents_);
  EXPECT_TRUE(Equal());
}

// The version decides which pair wins, and a flipped bit makes it an older one.
TEST_F(ScrubTest, AFlippedBitOfAVersionLosesNoLaterWrite) {
  for (const char* key : {"put", "deleted"}) a_->Put(key, "old");
  Sync();
  a_->Put("put", "new");
  a_->Delete("deleted");
  FlushIndex(a_.get());
  for (const char* key : {"put", "deleted"}) {
    const std::string bytes = EntryBytes(a_.get(), key);
    size_t bit = 8;  // of the time, which comes behind the tag
    while (WithBitFlipped(bytes, bit) > bytes) ++bit;
    SetEntryBytes(a_.get(), key, WithBitFlipped(bytes, bit));
  }
  EXPECT_TRUE(SyncsAgain());
  contents_["put"] = "new";
  contents_.erase("deleted");
  EXPECT_EQ(a_->Scan(), contents_);
  EXPECT_EQ(b_->Scan(), contents_);
  EXPECT_TRUE(Equal());
}

// The other side has it right.
TEST_F(ScrubTest, ATombstoneBeyondRepairComesFromThePeer) {
  FlushIndex(a_.get());
  const std::string bytes = EntryBytes(a_.get(), "k999");
  SetEntryBytes(a_.get(), "k999", bytes.substr(0, 9) + std::string(16, 'x'));
  EXPECT_TRUE(SyncsAgain());
  EXPECT_TRUE(Equal());
  EXPECT_EQ(a_->Scan(), contents_);
  EXPECT_EQ(b_->Scan(), contents_);
}

TEST_F(ScrubTest, AnEntryThatDoesNotParseStopsNobody) {
  SetEntryBytes(a_.get(), "k5", "?");
  a_->Put("unrelated", "value");
  contents_["unrelated"] = "value";
  EXPECT_TRUE(SyncsAgain()) << "it reads as if there were none";
  EXPECT_EQ(b_->Scan(), contents_);
  EXPECT_EQ(a_->Scan(), contents_);
  EXPECT_TRUE(Equal());

  SetEntryBytes(a_.get(), "k6", "?");
  EXPECT_EQ(Scrub(a_.get()).corruption_found, 1u);
  EXPECT_EQ(a_->db()->GetIndexStats().pairs_quarantined, 1u);
  Sync();
  EXPECT_EQ(a_->Scan(), contents_);
  EXPECT_TRUE(Equal());
}

// A re-check that finds no pair under such a key makes a tombstone of it. Back
// in its place it would delete a pair that is there.
TEST_F(ScrubTest, ATombstoneInTheWrongPlaceDeletesNoPair) {
  IndexedDB* const store = StoreAccess::IndexedOf(a_->db());
  ASSERT_TRUE(IsOk(a_->db()->Put({}, "gone", "v")));
  ASSERT_TRUE(IsOk(a_->db()->Delete({}, "gone")));
  const std::string tombstone = EntryBytes(a_.get(), "gone");
  std::string place;
  AppendIndexKey(&place, KeyIn(store, "k5"));
  const std::string stray = WithBitFlipped(place, 8 * place.size() - 1);
  LoseEntry(a_.get(), "k5");
  ASSERT_TRUE(
      IsOk(store->db()->Put({}, store->reader().index(), stray, tombstone)));
  store->digests()->Invalidate();
  Scrub(a_.get());
  std::string left;
  EXPECT_TRUE(
      store->db()->Get({}, store->reader().index(), stray, &left).IsNotFound());
  EXPECT_TRUE(SyncsAgain());
  EXPECT_EQ(a_->Scan(), contents_);
  EXPECT_EQ(b_->Scan(), contents_);
}

// A bit of an index key: the entry stands where no key has its entry.
TEST_F(ScrubTest, AnEntryInTheWrongPlaceGoesBackOrGoes) {
  IndexedDB* const store = StoreAccess::IndexedOf(a_->db());
  const std::string bytes = EntryBytes(a_.get(), "k5");
  std::string place;
  AppendIndexKey(&place, KeyIn(store, "k5"));
  for (size_t bit = 0; bit < 8 * place.size(); bit += kBitStep) {
    const std::string stray = WithBitFlipped(place, bit);
    LoseEntry(a_.get(), "k5");
    ASSERT_TRUE(
        IsOk(store->db()->Put({}, store->reader().index(), stray, bytes)));
    store->digests()->Invalidate();
    Scrub(a_.get());
    EXPECT_EQ(EntryBytes(a_.get(), "k5"), bytes) << "bit " << bit;
    std::string left;
    EXPECT_TRUE(store->db()
                    ->Get({}, store->reader().index(), stray, &left)
                    .IsNotFound());
  }
  for (const char* nonsense :
       {"\x80", "nonsense", "nonsense\xff\xff\xff\xff"}) {
    ASSERT_TRUE(
        IsOk(store->db()->Put({}, store->reader().index(), nonsense, "?")));
  }
  store->digests()->Invalidate();
  EXPECT_TRUE(SyncsAgain());
  Scrub(a_.get());
  EXPECT_EQ(a_->db()->GetIndexStats().entries_removed, 3u);
  EXPECT_TRUE(Equal());
  EXPECT_EQ(a_->Scan(), contents_);
}

// Behind the entry of a pair that a session looks up by its position.
TEST_F(ScrubTest, AnIndexKeyShorterThanAPositionStopsNobody) {
  IndexedDB* const store = StoreAccess::IndexedOf(a_->db());
  std::string place;
  AppendIndexKey(&place, KeyIn(store, "k5"));
  for (const size_t size : {1, 4, 7}) {
    ASSERT_TRUE(IsOk(store->db()->Put({}, store->reader().index(),
                                      place.substr(0, size), "?")));
  }
  FlushIndex(a_.get());
  for (auto& [key, value] : contents_) a_->Put(key, value += " again");
  EXPECT_TRUE(SyncsAgain());
  Scrub(a_.get());
  EXPECT_EQ(a_->db()->GetIndexStats().entries_removed, 3u);
  EXPECT_TRUE(Equal());
  EXPECT_EQ(b_->Scan(), contents_);
}

// A session meets it first.
TEST_F(ScrubTest, AnEntryInTheWrongPlaceStopsNoSession) {
  a_->Put("new", "value");
  IndexedDB* const store = StoreAccess::IndexedOf(a_->db());
  std::string place;
  AppendIndexKey(&place, KeyIn(store, "new"));
  const std::string bytes = EntryBytes(a_.get(), "new");
  LoseEntry(a_.get(), "new");
  ASSERT_TRUE(IsOk(store->db()->Put({}, store->reader().index(),
                                    WithBitFlipped(place, 1), bytes)));
  contents_["new"] = "value";
  EXPECT_TRUE(SyncsAgain());
  EXPECT_EQ(b_->Scan(), contents_);
  EXPECT_TRUE(Equal());
}

TEST_F(ScrubTest, GoesOnWhereItWasAfterARestart) {
  for (int i = 0; i < 60000; ++i) a_->Put(Numbered("n", i), "value");
  // A corruption near the beginning, which a pass that went on would not meet
  // again.
  Corrupt(a_.get(), "k0", "valuf");
  ReplicatorLimits limits;
  limits.scrub_bytes_per_second = 200'000;  // the pass takes seconds
  ASSERT_TRUE(IsOk(a_->replicator()->SetLimits(limits)));
  std::thread caller([this] { (void)a_->replicator()->ScrubNow(); });
  EXPECT_TRUE(Eventually([&] {
    return a_->replicator()->stats().scrub.pairs_compared >= 20'000;
  }));
  EXPECT_TRUE(a_->replicator()->stats().scrub.running);
  a_->replicator()->Stop();
  caller.join();
  a_->Stop();
  a_->Close();
  ASSERT_TRUE(a_->Open());
  ReplicatorOptions options = TestReplica::OnDemand();
  options.limits.scrub_paused = true;
  ASSERT_TRUE(IsOk(a_->Start(options)));
  ScrubStats stats = a_->replicator()->stats().scrub;
  EXPECT_TRUE(stats.running);
  EXPECT_GE(stats.pairs_compared, 10'000u) << "at most 64 chunks again";
  limits.scrub_bytes_per_second = 0;
  ASSERT_TRUE(IsOk(a_->replicator()->SetLimits(limits)));  // and not paused
  stats = Scrub(a_.get());
  EXPECT_EQ(stats.pairs_compared, 60'999u);
  EXPECT_EQ(stats.corruption_found, 0u) << "it is quarantined already";
}

TEST_F(ScrubTest, PausesAndRunsByItself) {
  a_->Stop();
  ReplicatorOptions options = TestReplica::OnDemand();
  options.scrub_interval = milliseconds(1);
  options.limits.scrub_paused = true;
  Corrupt(a_.get(), "k5", "valuf");
  ASSERT_TRUE(IsOk(a_->Start(options)));
  const uint64_t before = a_->replicator()->stats().scrub.last_finished_ms;
  a_->replicator()->stats();
  EXPECT_EQ(a_->replicator()->stats().scrub.corruption_found, 0u);
  options.limits.scrub_paused = false;
  ASSERT_TRUE(IsOk(a_->replicator()->SetLimits(options.limits)));
  ASSERT_TRUE(Eventually([&] {
    const ScrubStats stats = a_->replicator()->stats().scrub;
    return stats.corruption_found == 1 && stats.last_finished_ms > before;
  }));
}

// What was finished in the future says nothing of now: else none would begin
// until then.
TEST_F(ScrubTest, BeginsThoughAnAheadClockHadDatedTheLastOne) {
  WrongClock clock;
  clock.ahead_ms = uint64_t{200} * 24 * 3'600'000;
  TestReplica::Setting setting = SettingOf("ahead");
  setting.adjust = [&](rocksdb::Options* options, ReplicatedDBOptions*) {
    options->env = &clock;
  };
  TestReplica replica(setting);
  ASSERT_TRUE(replica.Open()) << replica.open_status().ToString();
  ReplicatorOptions options = TestReplica::OnDemand();
  options.scrub_interval = std::chrono::hours(1);
  ASSERT_TRUE(IsOk(replica.Start(options)));
  const uint64_t ahead = Scrub(&replica).last_finished_ms;
  replica.Stop();
  clock.ahead_ms = 0;
  ASSERT_TRUE(IsOk(replica.Start(options)));
  EXPECT_TRUE(Eventually([&] {
    const ScrubStats stats = replica.replicator()->stats().scrub;
    return stats.last_finished_ms < ahead;
  }));
}

TEST_F(ScrubTest, StopsInTheMiddle) {
  for (int i = 0; i < 5000; ++i) a_->Put(Numbered("k", i), "value");
  ReplicatorLimits limits;
  limits.scrub_bytes_per_second = 1000;
  ASSERT_TRUE(IsOk(a_->replicator()->SetLimits(limits)));
  rocksdb::Status status;
  std::thread caller([&] { status = a_->replicator()->ScrubNow(); });
  EXPECT_TRUE(Eventually(
      [&] { return a_->replicator()->stats().scrub.pairs_compared > 0; }));
  a_->Stop();
  caller.join();
  EXPECT_TRUE(status.IsAborted());
}

}  // namespace
}  // namespace rocksync
