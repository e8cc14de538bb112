// Tombstones go once all members hold them, and not before: real databases,
// replicators over TLS.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/replication/replica_fixture.h"

namespace rocksync {
namespace {

// Entries of the index, by a plain read of its family.
struct IndexCounts {
  int live = 0;
  int tombstones = 0;
};

class Forgetting : public ReplicationTest {
 protected:
  Forgetting() {
    for (const char* name : {"a", "b", "c"}) {
      replicas_.push_back(NewReplica(name));
      EXPECT_TRUE(IsOk(replicas_.back()->Start()));
    }
  }

  TestReplica& a() { return *replicas_[0]; }
  TestReplica& b() { return *replicas_[1]; }
  TestReplica& c() { return *replicas_[2]; }

  void Fill() {
    for (int i = 0; i < 100; ++i) a().Put("k" + std::to_string(i), "value");
    Meet(a(), b());
    Meet(a(), c());
  }

  static void Meet(TestReplica& one, TestReplica& other) {
    ASSERT_TRUE(IsOk(one.replicator()->SyncNow(other.address())));
  }
  // All pairs of replicas that are there, once.
  void MeetAll(const std::vector<TestReplica*>& there) {
    for (TestReplica* one : there) {
      for (TestReplica* other : there) {
        if (one != other) Meet(*one, *other);
      }
    }
  }

  static ForgettingStats StatsOf(TestReplica& replica) {
    return replica.db()->GetForgettingStats();
  }

  // Closes the replica and counts what its index really holds.
  static IndexCounts CountIndex(TestReplica& replica) {
    replica.Stop();
    replica.Close();
    IndexCounts counts;
    rocksdb::DB* db = nullptr;
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    EXPECT_TRUE(IsOk(rocksdb::DB::OpenForReadOnly(
        rocksdb::DBOptions(), replica.setting().directory,
        {{rocksdb::kDefaultColumnFamilyName, {}}, {kIndexFamilyName, {}}},
        &handles, &db)));
    if (db == nullptr) return counts;
    std::unique_ptr<rocksdb::Iterator> it(
        db->NewIterator(rocksdb::ReadOptions(), handles[1]));
    // Meta records begin with eight 0 bytes.
    for (it->Seek(std::string("\0\0\0\0\0\0\0\1", 8)); it->Valid();
         it->Next()) {
      ++((it->value()[0] & 1) != 0 ? counts.tombstones : counts.live);
    }
    it.reset();
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      EXPECT_TRUE(IsOk(db->DestroyColumnFamilyHandle(handle)));
    }
    delete db;
    return counts;
  }

  std::vector<std::unique_ptr<TestReplica>> replicas_;
};

TEST_F(Forgetting, WithoutMembersNothingIsForgotten) {
  Fill();
  a().Delete("k1");
  for (int round = 0; round < 3; ++round) MeetAll({&a(), &b(), &c()});
  EXPECT_EQ(StatsOf(a()).epoch, 0u);
  EXPECT_EQ(StatsOf(a()).horizon_ms, 0u);
  EXPECT_EQ(CountIndex(b()).tombstones, 1);
}

TEST_F(Forgetting, DeletedByOneGoneFromAll) {
  Fill();
  ASSERT_TRUE(IsOk(a().db()->SetMembers(1, {a().id(), b().id(), c().id()})));
  for (int i = 0; i < 50; ++i) a().Delete("k" + std::to_string(i));
  b().Delete("k50");
  EXPECT_TRUE(Eventually([&] {
    MeetAll({&a(), &b(), &c()});
    bool all = true;
    for (const auto& replica : replicas_) {
      const ForgettingStats stats = StatsOf(*replica);
      all = all && stats.epoch == 1 && stats.horizon_ms > 0 &&
            stats.tombstones == 0 && !stats.sweeping;
    }
    return all;
  }));
  EXPECT_EQ(StatsOf(a()).members.size(), 3u);
  EXPECT_EQ(StatsOf(a()).held_up_by, 0u);
  const Contents contents = a().Scan();
  EXPECT_EQ(contents.size(), 49u);
  for (const auto& replica : replicas_) {
    EXPECT_EQ(replica->Scan(), contents);
    const IndexCounts counts = CountIndex(*replica);
    EXPECT_EQ(counts.live, 49);
    EXPECT_EQ(counts.tombstones, 0);
  }
  // They are as equal as before, and what is forgotten stays so.
  for (const auto& replica : replicas_) {
    ASSERT_TRUE(replica->Open());
    ASSERT_TRUE(IsOk(replica->Start()));
  }
  MeetAll({&a(), &b(), &c()});
  EXPECT_GT(StatsOf(c()).horizon_ms, 0u);
  EXPECT_EQ(c().Scan(), contents);
}

// b meets only the copy of c, a only c itself, so neither can tell that there
// are two; when a and b meet, their stories of c do not go together.
TEST_F(Forgetting, ACopyIsNotTakenForItsOriginal) {
  Fill();
  ASSERT_TRUE(IsOk(a().db()->SetMembers(1, {a().id(), b().id(), c().id()})));
  MeetAll({&a(), &b(), &c()});
  MeetAll({&a(), &b(), &c()});
  c().Stop();
  c().Close();
  std::filesystem::copy(c().setting().directory, SettingOf("copy").directory,
                        std::filesystem::copy_options::recursive);
  TestReplica copy(SettingOf("copy"));
  for (TestReplica* twin : {&c(), &copy}) {
    ASSERT_TRUE(twin->Open());
    ASSERT_TRUE(IsOk(twin->Start()));
  }
  ASSERT_EQ(copy.id(), c().id());
  for (int i = 0; i < 50; ++i) copy.Delete("k" + std::to_string(i));
  for (int round = 0; round < 4; ++round) {
    Meet(c(), a());
    Meet(copy, b());
    Meet(a(), b());
  }
  for (TestReplica* replica : {&a(), &b()}) {
    EXPECT_EQ(StatsOf(*replica).two_lives, c().id());
    EXPECT_EQ(StatsOf(*replica).tombstones, 50u);
  }
  // a has met c, and says so; what it recommends works.
  EXPECT_TRUE(Mentions(copy.replicator()->SyncNow(a().address()),
                       "one of two with the same identity"));
  copy.Stop();
  copy.Close();
  TestReplica::Setting as_new = SettingOf("copy");
  as_new.adjust = [](rocksdb::Options*, ReplicatedDBOptions* options) {
    options->open_copy_as_new_replica = true;
  };
  TestReplica renewed(as_new);
  ASSERT_TRUE(renewed.Open()) << renewed.open_status().ToString();
  EXPECT_NE(renewed.id(), c().id());
  // A newer list makes an end of what was said of it.
  ASSERT_TRUE(IsOk(a().db()->SetMembers(2, {a().id(), b().id(), c().id()})));
  EXPECT_TRUE(Eventually([&] {
    Meet(c(), a());
    Meet(a(), b());
    return StatsOf(a()).tombstones + StatsOf(b()).tombstones +
               StatsOf(c()).tombstones ==
           0;
  }));
  EXPECT_EQ(StatsOf(a()).two_lives, 0u);
  EXPECT_EQ(a().Scan().size(), 50u);
  EXPECT_EQ(b().Scan(), a().Scan());
  EXPECT_EQ(c().Scan(), a().Scan());
}

TEST_F(Forgetting, AnAbsentMemberHoldsThemUpUntilItIsRemoved) {
  Fill();
  ASSERT_TRUE(IsOk(a().db()->SetMembers(1, {a().id(), b().id(), c().id()})));
  MeetAll({&a(), &b(), &c()});
  const uint64_t absent = c().id();
  c().Stop();
  for (int i = 0; i < 50; ++i) a().Delete("k" + std::to_string(i));
  for (int round = 0; round < 6; ++round) MeetAll({&a(), &b()});
  for (TestReplica* replica : {&a(), &b()}) {
    const ForgettingStats stats = StatsOf(*replica);
    EXPECT_EQ(stats.tombstones, 50u);
    EXPECT_EQ(stats.held_up_by, absent);
  }
  // Removed, it keeps nobody waiting, and is told so.
  ASSERT_TRUE(IsOk(a().db()->SetMembers(2, {a().id(), b().id()})));
  EXPECT_TRUE(Eventually([&] {
    MeetAll({&a(), &b()});
    return StatsOf(a()).tombstones + StatsOf(b()).tombstones == 0 &&
           !StatsOf(a()).sweeping && !StatsOf(b()).sweeping;
  }));
  ASSERT_TRUE(IsOk(c().Start()));
  for (const auto& [from, to] : {std::pair(&a(), &c()), {&c(), &a()}}) {
    const rocksdb::Status s = from->replicator()->SyncNow(to->address());
    EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
    EXPECT_TRUE(Mentions(s, "not in the member list of epoch 2"));
    EXPECT_TRUE(Mentions(s, "rocksync rescue"));
  }
  EXPECT_EQ(a().Scan().size(), 50u);
  EXPECT_EQ(CountIndex(a()).tombstones, 0);
  EXPECT_EQ(CountIndex(b()).tombstones, 0);
}

TEST_F(Forgetting, WrongListsAreNamed) {
  const rocksdb::Status s = a().db()->SetMembers(1, {b().id()});
  EXPECT_TRUE(s.IsInvalidArgument());
  EXPECT_TRUE(Mentions(s, "lacks replica"));
  ASSERT_TRUE(IsOk(a().db()->SetMembers(1, {a().id(), b().id()})));
  ASSERT_TRUE(IsOk(b().db()->SetMembers(1, {a().id(), b().id(), c().id()})));
  const rocksdb::Status conflict = a().replicator()->SyncNow(b().address());
  EXPECT_TRUE(Mentions(conflict, "different member lists of one epoch, 1"));
}

// An empty newcomer is filled; one with data of its own, once something was
// forgotten, is not let in.
TEST_F(Forgetting, Newcomers) {
  c().Stop();
  for (int i = 0; i < 20; ++i) a().Put("k" + std::to_string(i), "value");
  ASSERT_TRUE(IsOk(a().db()->SetMembers(1, {a().id(), b().id()})));
  for (int i = 0; i < 10; ++i) a().Delete("k" + std::to_string(i));
  EXPECT_TRUE(Eventually([&] {
    MeetAll({&a(), &b()});
    return StatsOf(a()).tombstones + StatsOf(b()).tombstones == 0;
  }));
  const auto old = NewReplica("old");
  old->Put("k3", "deleted elsewhere");
  ASSERT_TRUE(IsOk(old->Start()));
  ASSERT_TRUE(IsOk(c().Start()));
  ASSERT_TRUE(
      IsOk(a().db()->SetMembers(2, {a().id(), b().id(), c().id(), old->id()})));
  Meet(a(), c());
  EXPECT_EQ(c().Scan().size(), 10u);
  const rocksdb::Status s = old->replicator()->SyncNow(a().address());
  EXPECT_FALSE(s.ok());
  EXPECT_TRUE(Mentions(s, "deleted and forgotten"));
  EXPECT_EQ(a().Scan().count("k3"), 0u);
}

}  // namespace
}  // namespace rocksync
