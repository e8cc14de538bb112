// What is adopted, and what somebody else wrote.

#include <memory>
#include <string>
#include <vector>

#include "replication/store/format/index_key.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/compaction_filter.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/open_plain.h"

namespace rocksync {
namespace {

class AdoptionTest : public StoreTest {
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
  // These keys have later versions than `clock`, and only `deleted` is a
  // tombstone.
  static void ExpectWrittenAfter(uint64_t clock,
                                 const StorageSnapshot& snapshot,
                                 const std::vector<std::string>& keys,
                                 const std::string& deleted) {
    for (const std::string& key : keys) {
      const auto entry = snapshot.FindKey(0, key);
      ASSERT_TRUE(entry.ok() && entry->has_value()) << key;
      EXPECT_GT((*entry)->version.time, clock) << key;
      EXPECT_EQ((*entry)->tombstone, key == deleted);
    }
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

TEST_F(AdoptionTest, PlainDatabasesAreAdoptedAndEqualPairsAreEqual) {
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

TEST_F(AdoptionTest, WritesWhileAdoptingAndSessionsAreRefusedUntilDone) {
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

TEST_F(AdoptionTest, ForeignWritesAreNoticedAndGetFreshVersions) {
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
    ExpectWrittenAfter(clock, **snapshot, {"key7", "added", "key8"}, "key8");
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
TEST_F(AdoptionTest, ForeignWritesAreNotRevertedForWantOfASequenceNumber) {
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
    ExpectWrittenAfter(clock, **snapshot, {"changed", "added", "deleted"},
                       "deleted");
    EXPECT_LE((*snapshot)->FindKey(0, "fine").value()->version.time, clock);
  }
  CloseAndCheck();
}

// What disagrees although nobody wrote is quarantined: not offered, and
// whatever a peer has wins.
TEST_F(AdoptionTest, DisagreementWithoutEvidenceIsQuarantined) {
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

TEST_F(AdoptionTest, CorruptionInAValueIsNoticedWhenItIsRead) {
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

}  // namespace
}  // namespace rocksync
