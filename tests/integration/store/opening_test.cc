// Who may open a database, what is adopted, and what somebody else wrote.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>

#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/upkeep/peer_memory.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/compaction_filter.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/open_plain.h"

namespace rocksync {
namespace {

class OpeningTest : public StoreTest {
 protected:
  void MakePlain(const std::string& name, int pairs) {
    Plain(name, [&](rocksdb::DB* db) {
      for (int i = 0; i < pairs; ++i) {
        ASSERT_ROCKS_OK(db->Put({}, "key" + std::to_string(i),
                                "value" + std::to_string(i)));
      }
    });
  }
  static void CompactToTheLastLevel(rocksdb::DB* db) {
    rocksdb::CompactRangeOptions compact;
    compact.bottommost_level_compaction =
        rocksdb::BottommostLevelCompaction::kForce;
    ASSERT_ROCKS_OK(db->CompactRange(compact, nullptr, nullptr));
  }
  // "corruption" changes and "lost" goes, without a write.
  void Damage(const std::string& name) {
    class Damaging final : public rocksdb::CompactionFilter {
     public:
      const char* Name() const override { return "damage"; }
      bool Filter(int, const rocksdb::Slice& key, const rocksdb::Slice&,
                  std::string* value, bool* changed) const override {
        *changed = key == "corruption";
        if (*changed) *value = "other";
        return key == "lost";
      }
    };
    const Damaging filter;
    rocksdb::ColumnFamilyOptions data;
    data.compaction_filter = &filter;
    rocksdb::DB* raw = nullptr;
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    ASSERT_ROCKS_OK(OpenPlain({}, Dir(name),
                              {{"default", data}, {kIndexFamilyName, {}}},
                              &handles, &raw));
    CompactToTheLastLevel(raw);
    for (auto* handle : handles) {
      ASSERT_ROCKS_OK(raw->DestroyColumnFamilyHandle(handle));
    }
    delete raw;
  }
};

TEST_F(OpeningTest, IdentityStaysAndIncarnationsCount) {
  ASSERT_ROCKS_OK(Open());
  const ReplicaIdentity first = db_->Identity();
  EXPECT_NE(first.replica_id, 0u);
  EXPECT_EQ(first.incarnation, 1u);
  ASSERT_ROCKS_OK(Put("k", "v"));
  const IncarnationId first_incarnation =
      StoreAccess::IncarnationOf(db_.get()).incarnation;
  const uint64_t clock = Clock();
  ASSERT_ROCKS_OK(Open());
  const ReplicaIdentity second = db_->Identity();
  EXPECT_EQ(second.replica_id, first.replica_id);
  EXPECT_EQ(second.incarnation, 2u);
  EXPECT_NE(StoreAccess::IncarnationOf(db_.get()).incarnation.random,
            first_incarnation.random);
  EXPECT_GT(Clock(), clock) << "versions are never issued twice";
}

// Counts the filters it is asked to make for the index.
class CountingPolicy : public rocksdb::FilterPolicy {
 public:
  const char* Name() const override { return "counting"; }
  const char* CompatibilityName() const override {
    return bloom_->CompatibilityName();
  }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    (context.column_family_name == kIndexFamilyName ? of_index : others)++;
    return bloom_->GetBuilderWithContext(context);
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice& contents) const override {
    return bloom_->GetFilterBitsReader(contents);
  }

  mutable std::atomic<int> of_index{0};
  mutable std::atomic<int> others{0};

 private:
  const std::unique_ptr<const rocksdb::FilterPolicy> bloom_{
      rocksdb::NewBloomFilterPolicy(10)};
};

TEST_F(OpeningTest, TheIndexUsesTheFilterHandedInAndTheDataDoesNot) {
  const auto policy = std::make_shared<CountingPolicy>();
  replication_.index_filter_policy = policy;
  replication_.index_write_buffer_bytes = 64 << 10;  // several files
  ASSERT_ROCKS_OK(Open());
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_ROCKS_OK(Put("key" + std::to_string(i), "value"));
  }
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(db_->Close());
  EXPECT_GT(policy->of_index, 0);
  EXPECT_EQ(policy->others, 0);
  EXPECT_TRUE(IndexEqualsData(Dir(), replication_.cluster_secret, nullptr));
}

TEST_F(OpeningTest, CheckpointIsRecognisedAsACopy) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  rocksdb::Checkpoint* raw = nullptr;
  ASSERT_ROCKS_OK(rocksdb::Checkpoint::Create(db_.get(), &raw));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  ASSERT_ROCKS_OK(checkpoint->CreateCheckpoint(Dir("copy")));
  const ReplicaIdentity original = db_->Identity();
  std::unique_ptr<ReplicatedDB> copy;
  const rocksdb::Status refused = OpenOther("copy", &copy);
  EXPECT_TRUE(refused.IsAborted()) << refused.ToString();
  // In words for each language, and for who has the store.
  EXPECT_NE(refused.ToString().find("the option open_copy_as_new_replica "
                                    "(rocksync-store: --as-new-replica)"),
            std::string::npos)
      << refused.ToString();
  replication_.open_copy_as_new_replica = true;
  ASSERT_ROCKS_OK(OpenOther("copy", &copy));
  EXPECT_NE(copy->Identity().replica_id, original.replica_id);
  EXPECT_EQ(copy->Identity().incarnation, 1u);
  EXPECT_EQ(Total(copy.get()), Total());
  ASSERT_ROCKS_OK(copy->Put({}, "k", "of the copy"));
  ASSERT_ROCKS_OK(copy->Close());
  copy.reset();
  EXPECT_TRUE(IndexEqualsData(Dir("copy"), replication_.cluster_secret));
  // It is a replica like any other now.
  replication_.open_copy_as_new_replica = false;
  ASSERT_ROCKS_OK(OpenOther("copy", &copy));
}

TEST_F(OpeningTest, RestoredBackupIsRecognisedAsACopy) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  rocksdb::BackupEngine* raw = nullptr;
  ASSERT_ROCKS_OK(rocksdb::BackupEngine::Open(
      rocksdb::Env::Default(), rocksdb::BackupEngineOptions(Dir("backup")),
      &raw));
  const std::unique_ptr<rocksdb::BackupEngine> backup(raw);
  ASSERT_ROCKS_OK(backup->CreateNewBackup(db_.get()));
  ASSERT_ROCKS_OK(
      backup->RestoreDBFromLatestBackup(Dir("restored"), Dir("restored")));
  ASSERT_TRUE(IndexEqualsData(Dir("restored"), replication_.cluster_secret));
  std::unique_ptr<ReplicatedDB> copy;
  EXPECT_TRUE(OpenOther("restored", &copy).IsAborted());
  replication_.open_copy_as_new_replica = true;
  ASSERT_ROCKS_OK(OpenOther("restored", &copy));
  EXPECT_EQ(Total(copy.get()), Total());
}

// `cp -a` of a closed database cannot be told from the original by itself: the
// peers notice.
TEST_F(OpeningTest, PeersNoticeCopiedDirectoriesAndRollbacks) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  db_.reset();
  std::filesystem::copy(Dir(), Dir("twin"),
                        std::filesystem::copy_options::recursive);
  std::filesystem::copy(Dir(), Dir("old"),
                        std::filesystem::copy_options::recursive);
  std::unique_ptr<ReplicatedDB> peer;
  ASSERT_ROCKS_OK(OpenOther("peer", &peer));
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Remember(peer, db_));
  ASSERT_ROCKS_OK(Remember(peer, db_));

  std::unique_ptr<ReplicatedDB> twin;
  ASSERT_ROCKS_OK(OpenOther("twin", &twin));
  EXPECT_EQ(twin->Identity().replica_id, db_->Identity().replica_id);
  const rocksdb::Status two = Remember(peer, twin);
  EXPECT_TRUE(two.IsAborted());
  EXPECT_NE(two.ToString().find("one of two"), std::string::npos);
  EXPECT_TRUE(Remember(db_, twin).IsAborted());

  // The original goes on; then an old copy comes back. Peers remember that
  // across their own restarts.
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Remember(peer, db_));
  peer.reset();
  ASSERT_ROCKS_OK(OpenOther("peer", &peer));
  ASSERT_ROCKS_OK(OpenOther("old", &twin));
  const rocksdb::Status back = Remember(peer, twin);
  EXPECT_TRUE(back.IsAborted());
  EXPECT_NE(back.ToString().find("rolled back"), std::string::npos);
  Incarnation clock_back = StoreAccess::IncarnationOf(db_.get());
  const auto remember = [&] {
    return StoreAccess::PeersOf(peer.get())
        ->Remember(db_->Identity().replica_id, clock_back);
  };
  clock_back.clock = 1;
  EXPECT_ROCKS_OK(remember());  // two set-ups of one incarnation
  // A later opening starts from no earlier reading, however far it has come.
  clock_back.past.incarnations.push_back({clock_back.incarnation, Clock() - 1});
  ++clock_back.incarnation.counter;
  clock_back.clock = Clock() + 1;
  EXPECT_TRUE(remember().IsAborted());
  ++clock_back.past.incarnations.back().next_clock;
  EXPECT_ROCKS_OK(remember());
}

// A copy that ran on until its clock had caught up, and then was opened once
// more: neither its number nor its clock gives it away.
TEST_F(OpeningTest, ACopyIsKnownHoweverOftenItWasOpened) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  std::unique_ptr<ReplicatedDB> peer;
  ASSERT_ROCKS_OK(OpenOther("peer", &peer));
  ASSERT_ROCKS_OK(Remember(peer, db_));
  db_.reset();
  std::filesystem::copy(Dir(), Dir("copy"),
                        std::filesystem::copy_options::recursive);
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "w"));
  ASSERT_ROCKS_OK(Remember(peer, db_));
  const uint64_t met = db_->Identity().incarnation;

  std::unique_ptr<ReplicatedDB> copy;
  for (int opening = 0; opening < 3; ++opening) {
    copy.reset();
    ASSERT_ROCKS_OK(OpenOther("copy", &copy));
    ASSERT_ROCKS_OK(
        copy->Put({}, copy->DefaultColumnFamily(), "k", "in the copy"));
  }
  EXPECT_GT(copy->Identity().incarnation, met);
  EXPECT_GE(StoreAccess::IncarnationOf(copy.get()).first_clock,
            StoreAccess::IncarnationOf(db_.get()).first_clock);
  const rocksdb::Status refused = Remember(peer, copy);
  EXPECT_TRUE(refused.IsAborted());
  EXPECT_NE(refused.ToString().find("does not descend from"), std::string::npos)
      << refused.ToString();

  // The original may be opened as often without meeting anybody.
  for (int opening = 0; opening < 3; ++opening) ASSERT_ROCKS_OK(Open());
  EXPECT_ROCKS_OK(Remember(peer, db_));
  const IncarnationHistory past = StoreAccess::IncarnationOf(db_.get()).past;
  EXPECT_EQ(past.since, 0u);
  EXPECT_EQ(past.incarnations.size(), db_->Identity().incarnation - 1);
}

// With the application's word that it is a copy, another directory is enough.
TEST_F(OpeningTest, CopiedDirectoryOpensAsNewReplicaIfAskedTo) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  const ReplicaIdentity original = db_->Identity();
  db_.reset();
  std::filesystem::copy(Dir(), Dir("twin"),
                        std::filesystem::copy_options::recursive);
  replication_.open_copy_as_new_replica = true;
  std::unique_ptr<ReplicatedDB> twin;
  ASSERT_ROCKS_OK(OpenOther("twin", &twin));
  const ReplicaIdentity renewed = twin->Identity();
  EXPECT_NE(renewed.replica_id, original.replica_id);
  EXPECT_EQ(renewed.incarnation, 1u);
  // It stays what it is now, and so does the original where it was.
  ASSERT_ROCKS_OK(twin->Close());
  twin.reset();
  ASSERT_ROCKS_OK(OpenOther("twin", &twin));
  EXPECT_EQ(twin->Identity().replica_id, renewed.replica_id);
  EXPECT_EQ(twin->Identity().incarnation, 2u);
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(db_->Identity().replica_id, original.replica_id);
  EXPECT_EQ(Total(twin.get()), Total());
}

// Somebody opened the copy first and was told by a peer what to do.
TEST_F(OpeningTest, ACopyThatWasOpenedBeforeOpensAsNewReplicaIfAskedTo) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  const uint64_t original = db_->Identity().replica_id;
  db_.reset();
  std::filesystem::copy(Dir(), Dir("twin"),
                        std::filesystem::copy_options::recursive);
  std::unique_ptr<ReplicatedDB> twin;
  for (int opening = 0; opening < 2; ++opening) {
    twin.reset();
    ASSERT_ROCKS_OK(OpenOther("twin", &twin));
    EXPECT_EQ(twin->Identity().replica_id, original);
  }
  twin.reset();
  replication_.open_copy_as_new_replica = true;
  ASSERT_ROCKS_OK(OpenOther("twin", &twin));
  const uint64_t renewed = twin->Identity().replica_id;
  EXPECT_NE(renewed, original);
  // Left on, the option does not do it again.
  twin.reset();
  ASSERT_ROCKS_OK(OpenOther("twin", &twin));
  EXPECT_EQ(twin->Identity().replica_id, renewed);
}

// A copy in the same path of another machine: only the meeting tells.
TEST_F(OpeningTest, WhoMetItselfOpensAsNewReplicaIfAskedTo) {
  ASSERT_ROCKS_OK(Open());
  const uint64_t original = db_->Identity().replica_id;
  ASSERT_ROCKS_OK(StoreAccess::PeersOf(db_.get())->NoteMetItself());
  ASSERT_ROCKS_OK(StoreAccess::PeersOf(db_.get())->NoteMetItself());
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(db_->Identity().replica_id, original) << "it may be the original";
  replication_.open_copy_as_new_replica = true;
  ASSERT_ROCKS_OK(Open());
  const uint64_t renewed = db_->Identity().replica_id;
  EXPECT_NE(renewed, original);
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(db_->Identity().replica_id, renewed);
}

TEST_F(OpeningTest, WhoAcknowledgedMoreOpensAsNewReplicaUnlessTakenBack) {
  ASSERT_ROCKS_OK(Open());
  const uint64_t original = db_->Identity().replica_id;
  const auto reopen = [&](bool as_new) {
    replication_.open_copy_as_new_replica = as_new;
    ASSERT_ROCKS_OK(Open());
  };
  ASSERT_ROCKS_OK(StoreAccess::PeersOf(db_.get())->NoteAcknowledgedMore(5));
  ASSERT_ROCKS_OK(StoreAccess::PeersOf(db_.get())->NoteAcknowledgedMore(6));
  ASSERT_ROCKS_OK(StoreAccess::PeersOf(db_.get())->NoteTakenBack(5));
  reopen(/*as_new=*/true);
  EXPECT_EQ(db_->Identity().replica_id, original) << "5 lets it in again";
  ASSERT_ROCKS_OK(StoreAccess::PeersOf(db_.get())->NoteAcknowledgedMore(5));
  ASSERT_ROCKS_OK(StoreAccess::PeersOf(db_.get())->NoteTakenBack(6));
  reopen(/*as_new=*/false);
  EXPECT_EQ(db_->Identity().replica_id, original) << "nobody asked for it";
  reopen(/*as_new=*/true);
  const uint64_t renewed = db_->Identity().replica_id;
  EXPECT_NE(renewed, original);
  reopen(/*as_new=*/true);
  EXPECT_EQ(db_->Identity().replica_id, renewed);
}

// Who sets the option and keeps the identity is told so, and what to do.
TEST_F(OpeningTest, ThatTheOptionHadNoEffectIsLogged) {
  const auto told = [&] {
    return InfoLog().find("open_copy_as_new_replica is ignored") !=
           std::string::npos;
  };
  ASSERT_ROCKS_OK(Open());
  const uint64_t original = db_->Identity().replica_id;
  ASSERT_ROCKS_OK(Open());
  EXPECT_FALSE(told());
  replication_.open_copy_as_new_replica = true;
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(db_->Identity().replica_id, original);
  EXPECT_TRUE(told());
  // What it says helps, helps.
  ASSERT_NE(InfoLog().find("remove the file ROCKSYNC"), std::string::npos);
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  std::filesystem::remove(Dir() + "/ROCKSYNC");
  ASSERT_ROCKS_OK(Open());
  EXPECT_NE(db_->Identity().replica_id, original);
  EXPECT_FALSE(told());
}

TEST_F(OpeningTest, MovedDirectoryStaysTheSameReplica) {
  ASSERT_ROCKS_OK(Open());
  const uint64_t id = db_->Identity().replica_id;
  db_.reset();
  std::filesystem::rename(Dir(), Dir("moved"));
  ASSERT_ROCKS_OK(Open("moved"));
  EXPECT_EQ(db_->Identity().replica_id, id);
}

TEST_F(OpeningTest, IndexOfANewerFormatIsRefusedAndLeftAlone) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  db_.reset();
  const auto write_format = [this](char format) {
    rocksdb::DB* raw = nullptr;
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    ASSERT_ROCKS_OK(OpenPlain(
        {}, Dir(), {{"default", {}}, {kIndexFamilyName, {}}}, &handles, &raw));
    ASSERT_ROCKS_OK(raw->Put({}, handles[1], MetaKey(kFormatRecord),
                             std::string(1, format)));
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      ASSERT_ROCKS_OK(raw->DestroyColumnFamilyHandle(handle));
    }
    delete raw;
  };
  write_format(9);
  const rocksdb::Status refused = Open();
  EXPECT_TRUE(refused.IsNotSupported()) << refused.ToString();
  for (const char* part : {"format 9", "knows 1", "newer version", "detach"}) {
    EXPECT_NE(refused.ToString().find(part), std::string::npos)
        << refused.ToString();
  }
  EXPECT_NE(refused.ToString().find(Dir()), std::string::npos);
  // Nothing was changed: the version that wrote it goes on.
  write_format(1);
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(Get("k"), "v");
  EXPECT_EQ(Total().count, 1u);
}

// RocksDB leaves a family of its own behind.
TEST_F(OpeningTest, AfterStatisticsWereKeptOnDiskItIsAdopted) {
#if ROCKSYNC_ROCKSDB_AT_LEAST(11, 9)
  GTEST_SKIP() << "such a database crashes RocksDB itself if it is opened with "
                  "any EventListener (seen: main of August 2026)";
#endif
  options_.persist_stats_to_disk = true;
  rocksdb::DB* plain = nullptr;
  ASSERT_ROCKS_OK(OpenPlain(options_, Dir(), &plain));
  ASSERT_ROCKS_OK(plain->Put({}, "k", "v"));
  delete plain;
  EXPECT_TRUE(Open().IsInvalidArgument());
  options_.persist_stats_to_disk = false;
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(Total().count, 1u);
  EXPECT_EQ(db_->ReplicatedFamilies(), std::vector<std::string>{"default"});
}

TEST_F(OpeningTest, PlainDatabasesAreAdoptedAndEqualPairsAreEqual) {
  MakePlain("a", 5000);
  MakePlain("b", 5000);
  Plain("b", [](rocksdb::DB* db) {
    for (int i = 0; i < 10; ++i) {
      ASSERT_ROCKS_OK(db->Put({}, "key" + std::to_string(i * 7), "changed"));
    }
  });
  replication_.adopt_existing = false;
  const rocksdb::Status refused = Open("a");
  EXPECT_NE(refused.ToString().find("adopt_existing"), std::string::npos);
  replication_.adopt_existing = true;
  ASSERT_ROCKS_OK(Open("a"));
  std::unique_ptr<ReplicatedDB> other;
  ASSERT_ROCKS_OK(OpenOther("b", &other));
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  ASSERT_ROCKS_OK(other->WaitForIndexBuild(60000));
  EXPECT_TRUE(db_->GetIndexBuildProgress().done);
  EXPECT_EQ(db_->GetIndexBuildProgress().percent, 100);
  const auto view_a = StoreAccess::NewView(db_.get());
  const auto view_b = StoreAccess::NewView(other.get());
  const auto a = view_a->TakeSnapshot({});
  const auto b = view_b->TakeSnapshot({});
  ASSERT_TRUE(a.ok() && b.ok());
  int different = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string key = "key" + std::to_string(i);
    const auto x = (*a)->FindKey(0, key);
    const auto y = (*b)->FindKey(0, key);
    ASSERT_TRUE(x.ok() && x->has_value() && y.ok() && y->has_value()) << key;
    EXPECT_EQ((*x)->version, Version{});
    different += (*x)->hash != (*y)->hash;
  }
  EXPECT_EQ(different, 10);
}

TEST_F(OpeningTest, WritesWhileAdoptingAndSessionsAreRefusedUntilDone) {
  MakePlain("db", 20000);
  ASSERT_ROCKS_OK(Open());
  for (int i = 0; i < 20000; i += 100) {
    ASSERT_ROCKS_OK(Put("key" + std::to_string(i), "new"));
    ASSERT_ROCKS_OK(db_->Delete({}, "key" + std::to_string(i + 1)));
  }
  const auto view = StoreAccess::NewView(db_.get());
  if (!db_->GetIndexBuildProgress().done) {
    const absl::Status status = view->TakeSnapshot({}).status();
    EXPECT_TRUE(absl::IsUnavailable(status) || status.ok()) << status;
    std::vector<ApplyOutcome> outcomes;
    const absl::Status applied = view->Apply({}, {}, &outcomes);
    EXPECT_TRUE(absl::IsUnavailable(applied) || applied.ok()) << applied;
  }
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_TRUE(view->TakeSnapshot({}).ok());
  ScanResult result;
  CloseAndCheck(&result);
  EXPECT_EQ(result.pairs, 19800u);
  EXPECT_EQ(result.tombstones, 200u);
}

TEST_F(OpeningTest, ForeignWritesAreNoticedAndGetFreshVersions) {
  ASSERT_ROCKS_OK(Open());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_ROCKS_OK(Put("key" + std::to_string(i), "ours"));
  }
  const Digest before = Total();
  const uint64_t clock = Clock();
  db_.reset();
  Plain("db", [](rocksdb::DB* db) {
    ASSERT_ROCKS_OK(db->Put({}, "key7", "foreign"));
    ASSERT_ROCKS_OK(db->Put({}, "added", "foreign"));
    ASSERT_ROCKS_OK(db->Delete({}, "key8"));
  });
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 0u);
  const auto view = StoreAccess::NewView(db_.get());
  {
    const auto snapshot = view->TakeSnapshot({});
    ASSERT_TRUE(snapshot.ok());
    for (const char* key : {"key7", "added", "key8"}) {
      const auto entry = (*snapshot)->FindKey(0, key);
      ASSERT_TRUE(entry.ok() && entry->has_value()) << key;
      EXPECT_GT((*entry)->version.time, clock) << key;
      EXPECT_EQ((*entry)->tombstone, std::string(key) == "key8");
    }
    EXPECT_LT((*snapshot)->FindKey(0, "key9").value()->version.time, clock);
  }
  EXPECT_EQ(Total().count, before.count + 1);
  ScanResult result;
  CloseAndCheck(&result);
  EXPECT_EQ(result.quarantined, 0u);
  // The check is over for good.
  ASSERT_ROCKS_OK(Open());
  EXPECT_TRUE(db_->GetIndexBuildProgress().done);
}

// Compaction to the last level takes the sequence numbers away, and deletions
// altogether. That somebody wrote is known all the same.
TEST_F(OpeningTest, ForeignWritesAreNotRevertedForWantOfASequenceNumber) {
  ASSERT_ROCKS_OK(Open());
  for (const char* key : {"changed", "deleted", "fine"}) {
    ASSERT_ROCKS_OK(Put(key, "ours"));
  }
  const uint64_t clock = Clock();
  db_.reset();
  Plain("db", [](rocksdb::DB* db) {
    ASSERT_ROCKS_OK(db->Put({}, "changed", "foreign"));
    ASSERT_ROCKS_OK(db->Put({}, "added", "foreign"));
    ASSERT_ROCKS_OK(db->Delete({}, "deleted"));
    CompactToTheLastLevel(db);
  });
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 0u);
  const auto view = StoreAccess::NewView(db_.get());
  {
    const auto snapshot = view->TakeSnapshot({});
    ASSERT_TRUE(snapshot.ok());
    for (const char* key : {"changed", "added", "deleted"}) {
      const auto entry = (*snapshot)->FindKey(0, key);
      ASSERT_TRUE(entry.ok() && entry->has_value()) << key;
      EXPECT_GT((*entry)->version.time, clock) << key;
      EXPECT_EQ((*entry)->tombstone, std::string(key) == "deleted");
    }
    EXPECT_LE((*snapshot)->FindKey(0, "fine").value()->version.time, clock);
  }
  CloseAndCheck();
}

// What disagrees although nobody wrote is quarantined: not offered, and
// whatever a peer has wins.
TEST_F(OpeningTest, DisagreementWithoutEvidenceIsQuarantined) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("corruption", "value"));
  ASSERT_ROCKS_OK(Put("lost", "value"));
  ASSERT_ROCKS_OK(Put("fine", "value"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  db_.reset();
  Damage("db");
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 2u);
  EXPECT_EQ(Total().count, 1u);
  const auto view = StoreAccess::NewView(db_.get());
  {
    const auto snapshot = view->TakeSnapshot({});
    ASSERT_TRUE(snapshot.ok());
    EXPECT_FALSE((*snapshot)->FindKey(0, "corruption")->has_value());
    EXPECT_TRUE((*snapshot)->FindKey(0, "fine")->has_value());
  }
  std::vector<ApplyOutcome> outcomes;
  const std::vector<Pair> pairs = {
      {0, "corruption", {1, 99}, false, "of a peer"}};
  ASSERT_TRUE(view->Apply(pairs, {}, &outcomes).ok());
  EXPECT_EQ(outcomes[0], ApplyOutcome::kApplied);
  EXPECT_EQ(Get("corruption"), "of a peer");
  ASSERT_ROCKS_OK(Put("lost", "again"));
  CloseAndCheck();
}

TEST_F(OpeningTest, CorruptionInAValueIsNoticedWhenItIsRead) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "value"));
  const auto view = StoreAccess::NewView(db_.get());
  {
    auto snapshot = view->TakeSnapshot({});
    ASSERT_TRUE(snapshot.ok());
    const IndexEntry entry = (*snapshot)->FindKey(0, "k").value().value();
    IndexEntry other = entry;
    other.hash.low ^= 1;
    EXPECT_TRUE(absl::IsDataLoss((*snapshot)->ReadValue(other).status()));
    EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 0u)
        << "read again, it fits";
  }
  // Not a foreign write, which would be noticed and count.
  ASSERT_ROCKS_OK(
      StoreAccess::IndexedOf(db_.get())->db()->Put({}, "k", "valuf"));
  {
    auto snapshot = view->TakeSnapshot({});
    ASSERT_TRUE(snapshot.ok());
    const IndexEntry entry = (*snapshot)->FindKey(0, "k").value().value();
    EXPECT_TRUE(absl::IsDataLoss((*snapshot)->ReadValue(entry).status()));
  }
  EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 1u);
  EXPECT_EQ(Total().count, 0u) << "not offered any more";
}

TEST_F(OpeningTest, DetachLeavesAPlainDatabase) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  const uint64_t identity = db_->Identity().replica_id;
  db_.reset();
  ASSERT_ROCKS_OK(ReplicatedDB::Detach({}, Dir()));
  EXPECT_TRUE(ReplicatedDB::Detach({}, Dir()).IsNotFound());
  std::vector<std::string> names;
  ASSERT_ROCKS_OK(rocksdb::DB::ListColumnFamilies({}, Dir(), &names));
  EXPECT_EQ(names, (std::vector<std::string>{"default"}));
  Plain("db", [](rocksdb::DB* db) {
    std::string value;
    ASSERT_ROCKS_OK(db->Get({}, "k", &value));
    EXPECT_EQ(value, "v");
  });
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(10000));
  EXPECT_NE(db_->Identity().replica_id, identity);
  EXPECT_EQ(Total().count, 1u);
}

TEST_F(OpeningTest, DetachNamesWhatIsWrong) {
  EXPECT_FALSE(ReplicatedDB::Detach({}, Dir("nowhere")).ok());
  ASSERT_ROCKS_OK(Open());
  EXPECT_TRUE(ReplicatedDB::Detach({}, Dir()).IsIOError()) << "in use";
}

// RocksDB opens it, and a sync fails later.
TEST_F(OpeningTest, ALogThatCannotBeSyncedIsRefused) {
  const std::unique_ptr<rocksdb::Env> memory(
      rocksdb::NewMemEnv(rocksdb::Env::Default()));
  options_.env = memory.get();
  const rocksdb::Status status = Open();
  EXPECT_TRUE(status.IsNotSupported()) << status.ToString();
  for (const char* const part : {"DBOptions::env", "sync", "POSIX"}) {
    EXPECT_NE(status.ToString().find(part), std::string::npos)
        << status.ToString();
  }
  EXPECT_FALSE(memory->FileExists(Dir() + "/CURRENT").ok());

  // A plain database stays one.
  rocksdb::DB* plain = nullptr;
  ASSERT_ROCKS_OK(OpenPlain(options_, Dir(), &plain));
  ASSERT_ROCKS_OK(plain->Put({}, "k", "v"));
  delete plain;
  const auto children = [&] {
    std::vector<std::string> names;
    EXPECT_ROCKS_OK(memory->GetChildren(Dir(), &names));
    std::sort(names.begin(), names.end());
    return names;
  };
  const std::vector<std::string> before = children();
  EXPECT_TRUE(Open().IsNotSupported());
  EXPECT_EQ(children(), before);
}

}  // namespace
}  // namespace rocksync
