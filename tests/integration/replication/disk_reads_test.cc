// A disk that does not read for a while, and then does: an error is not a fact,
// so no acknowledged write is taken back by it.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "replication/store/store_access.h"
#include "replication/store/upkeep/scrub.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/memtablerep.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"
#include "tests/integration/replication/failing_disk.h"
#include "tests/integration/replication/replica_fixture.h"

namespace rocksync {
namespace {

constexpr int kOverwritten = 100;

// Two replicas that were equal; then one, whose disk may fail, overwrote a
// hundred keys, synced, and the other knows nothing of it.
class DiskReadsTest : public ReplicationTest,
                      public testing::WithParamInterface<DiskState> {
 protected:
  ~DiskReadsTest() override { *disk_.state = DiskState::kGood; }
  void SetUp() override {
    TestReplica::Setting setting = SettingOf("a");
    setting.adjust = [this](rocksdb::Options* options, ReplicatedDBOptions*) {
      options->env = disk_.env.get();
      // One that cannot read stops all writes until the next opening.
      options->disable_auto_compactions = true;
      rocksdb::BlockBasedTableOptions table;
      table.no_block_cache = true;
      options->table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    };
    a_ = std::make_unique<TestReplica>(setting);
    ASSERT_TRUE(a_->Open()) << a_->open_status().ToString();
    b_ = NewReplica("b");
    ASSERT_TRUE(IsOk(b_->Start()));
    ReplicatorOptions options = TestReplica::OnDemand();
    options.peers = {b_->address()};
    ASSERT_TRUE(IsOk(a_->Start(options)));
    for (int i = 0; i < kOverwritten; ++i) a_->Put(Numbered("k", i), "old");
    ASSERT_TRUE(IsOk(Sync()));
    rocksdb::WriteOptions synced;
    synced.sync = true;
    for (int i = 0; i < kOverwritten; ++i) {
      ASSERT_TRUE(IsOk(a_->db()->Put(synced, Numbered("k", i), "new")));
      overwritten_[Numbered("k", i)] = "new";
    }
    ASSERT_TRUE(IsOk(a_->db()->Flush({})));
    scrub_ = StoreAccess::NewScrub(a_->db());
    ASSERT_TRUE(IsOk(scrub_->Load()));
  }
  void TearDown() override {
    *disk_.state = DiskState::kGood;
    scrub_.reset();
    a_.reset();
  }

  rocksdb::Status Sync() { return a_->replicator()->SyncNow(b_->address()); }
  void Steps(int steps) {
    uint64_t bytes = 0;
    bool finished = false;
    for (int i = 0; i < steps; ++i) {
      scrub_->Step(&bytes, &finished).PermitUncheckedError();
    }
  }
  // Syncs until both are proven equal; what had to be looked at again first
  // travels in a later session.
  void ExpectAllSurvive() {
    for (int i = 0; i < 3; ++i) Sync().PermitUncheckedError();
    EXPECT_TRUE(IsOk(Sync()));
    EXPECT_EQ(a_->Scan(), overwritten_);
    EXPECT_EQ(b_->Scan(), overwritten_);
  }

  FailingDisk disk_ = MakeFailingDisk();
  std::unique_ptr<TestReplica> a_;
  std::unique_ptr<TestReplica> b_;
  std::unique_ptr<Scrub> scrub_;
  Contents overwritten_;
};

TEST_P(DiskReadsTest, WhileAScrubReadsTheData) {
  *disk_.state = GetParam();
  Steps(8);
  *disk_.state = DiskState::kGood;
  Steps(8);
  ExpectAllSurvive();
}

TEST_P(DiskReadsTest, WhileAScrubReadsByTheIndex) {
  Steps(2);
  *disk_.state = GetParam();
  Steps(2);
  *disk_.state = DiskState::kGood;
  ExpectAllSurvive();
}

// Not even the session sees a good disk, nor the next scrub.
TEST_P(DiskReadsTest, WhileItSyncsToo) {
  Steps(2);
  *disk_.state = GetParam();
  Steps(2);
  for (int i = 0; i < 3; ++i) Sync().PermitUncheckedError();
  Steps(2);
  *disk_.state = DiskState::kGood;
  ExpectAllSurvive();
}

// Nor does what cannot be read now become unversioned, or go.
TEST_P(DiskReadsTest, WhileQuarantinedPairsAreResolved) {
  Steps(2);
  *disk_.state = DiskState::kShortReads;
  Steps(2);
  EXPECT_EQ(a_->db()->GetIndexStats().pairs_quarantined,
            uint64_t{kOverwritten});
  *disk_.state = GetParam();
  uint64_t resolved = 0;
  ASSERT_TRUE(IsOk(scrub_->ResolveQuarantined({}, &resolved)));
  EXPECT_EQ(resolved, 0u);
  *disk_.state = DiskState::kGood;
  ASSERT_TRUE(IsOk(scrub_->ResolveQuarantined({}, &resolved)));
  EXPECT_EQ(resolved, 0u) << "released";
  EXPECT_EQ(a_->db()->GetIndexStats().pairs_released, uint64_t{kOverwritten});
  ExpectAllSurvive();
}

INSTANTIATE_TEST_SUITE_P(Reads, DiskReadsTest,
                         testing::Values(DiskState::kUnreadable,
                                         DiskState::kShortReads),
                         [](const auto& reads) {
                           return reads.param == DiskState::kUnreadable
                                      ? "Fail"
                                      : "EndShort";
                         });

// Without total order such a memtable shows the keys of one prefix alone.
TEST_F(ReplicationTest, AScrubGoesOverMemtablesThatAreHashed) {
  TestReplica::Setting setting = SettingOf("hashed");
  setting.adjust = [](rocksdb::Options* options, ReplicatedDBOptions*) {
    options->memtable_factory.reset(rocksdb::NewHashSkipListRepFactory(1000));
    options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(2));
    options->allow_concurrent_memtable_write = false;
  };
  TestReplica replica(setting);
  ASSERT_TRUE(replica.Open()) << replica.open_status().ToString();
  for (int i = 0; i < 1000; ++i) replica.Put(Numbered("k", i), "value");
  // Not a foreign write, which would be noticed and count.
  ASSERT_TRUE(
      IsOk(StoreAccess::IndexedOf(replica.db())->db()->Put({}, "k5", "valuf")));
  ASSERT_TRUE(IsOk(replica.Start()));
  EXPECT_TRUE(IsOk(replica.replicator()->ScrubNow()));
  EXPECT_EQ(replica.replicator()->stats().scrub.corruption_found, 1u);
}

}  // namespace
}  // namespace rocksync
