// Tombstones go once all members hold them, and not before: real databases,
// replicators over TLS.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "replication/base/rocksdb_version.h"
#include "replication/membership/setup.h"
#include "replication/peering/admission.h"
#include "replication/store/store_access.h"
#include "replication/store/upkeep/membership.h"
#include "rocksync/transport.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/support/wrong_clock.h"

namespace rocksync {
namespace {

// Entries of the index, by a plain read of its family.
struct IndexCounts {
  int live = 0;
  int tombstones = 0;
};

const PeerStats* PeerOf(const ReplicationStats& stats, uint64_t id) {
  const auto found = std::find_if(
      stats.peers.begin(), stats.peers.end(),
      [id](const PeerStats& peer) { return peer.replica_id == id; });
  return found == stats.peers.end() ? nullptr : &*found;
}

class TombstoneGc : public ReplicationTest {
 protected:
  TombstoneGc() {
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

  static TombstoneGcStats StatsOf(TestReplica& replica) {
    return replica.db()->GetTombstoneGcStats();
  }

  // As far as `witness` knows.
  static uint64_t AcknowledgedBy(TestReplica& member, TestReplica& witness) {
    for (const MemberStats& known : StatsOf(witness).members) {
      if (known.replica_id == member.id()) return known.acknowledged_ms;
    }
    return 0;
  }

  // Closes the replica and counts what its index really holds.
  static IndexCounts CountIndex(TestReplica& replica) {
    replica.Stop();
    replica.Close();
    IndexCounts counts;
    std::unique_ptr<rocksdb::DB> db;
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    EXPECT_TRUE(IsOk(OpenPlainForReadOnly(
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
    return counts;
  }

  // PerformSetup `from`, which is stopped, to whoever listens there, and
  // goes away before any session: the other side has agreed and got nothing.
  static void Greet(TestReplica& from, const std::string& address) {
    std::shared_ptr<Transport> transport;
    ASSERT_TRUE(IsOk(from.NewTransport(&transport)));
    std::unique_ptr<Connection> connection;
    ASSERT_TRUE(IsOk(transport->Connect(address, kPatience, {}, &connection)));
    const ClusterSecret secret =
        from.db()->replication_options().cluster_secret;
    Admission admission;
    ASSERT_TRUE(IsOk(AuthenticateAsDialer(
        {"test", secret, from.id(), kPatience}, connection.get(), &admission)));
    const Announcement said = StoreAccess::MembershipOf(from.db())->Announce();
    const Incarnation incarnation = StoreAccess::IncarnationOf(from.db());
    SetupFacts facts;
    facts.cluster = "test";
    facts.replica_id = from.id();
    facts.incarnation = incarnation.incarnation;
    facts.first_clock = incarnation.first_clock;
    facts.clock = said.reading;
    facts.past = incarnation.past;
    facts.gc = said.gc;
    for (const auto& family : StoreAccess::Families(from.db())) {
      facts.families.push_back({family.name, family.comparator});
    }
    rocksync::Setup setup(Role::kInitiator, facts, secret, {});
    std::string message;
    while (!setup.done()) {
      while (setup.NextMessage(&message)) {
        ASSERT_TRUE(IsOk(connection->Send(message, kPatience)));
      }
      if (setup.done()) break;
      ASSERT_TRUE(IsOk(connection->Receive(&message, kPatience)));
      ASSERT_TRUE(setup.Receive(message).ok()) << setup.status();
    }
  }

  // A copy of its directory as it is.
  void CopyDirectory(TestReplica& replica, const std::string& name) {
    replica.Stop();
    replica.Close();
    std::filesystem::copy(replica.setting().directory,
                          SettingOf(name).directory,
                          std::filesystem::copy_options::recursive);
    ASSERT_TRUE(replica.Open());
    ASSERT_TRUE(IsOk(replica.Start()));
  }

  static void Restart(TestReplica& replica) {
    replica.Stop();
    replica.Close();
    ASSERT_TRUE(replica.Open());
    ASSERT_TRUE(IsOk(replica.Start()));
  }

  static constexpr milliseconds kPatience{60'000};
  std::vector<std::unique_ptr<TestReplica>> replicas_;
};

TEST_F(TombstoneGc, WithoutMembersNothingIsCollected) {
  Fill();
  a().Delete("k1");
  for (int round = 0; round < 3; ++round) MeetAll({&a(), &b(), &c()});
  EXPECT_EQ(StatsOf(a()).epoch, 0u);
  EXPECT_EQ(StatsOf(a()).stable_ms, 0u);
  EXPECT_EQ(CountIndex(b()).tombstones, 1);
}

TEST_F(TombstoneGc, DeletedByOneGoneFromAll) {
  Fill();
  ASSERT_TRUE(IsOk(a().db()->SetMembers(1, {a().id(), b().id(), c().id()})));
  for (int i = 0; i < 50; ++i) a().Delete("k" + std::to_string(i));
  b().Delete("k50");
  EXPECT_TRUE(Eventually([&] {
    MeetAll({&a(), &b(), &c()});
    bool all = true;
    for (const auto& replica : replicas_) {
      const TombstoneGcStats stats = StatsOf(*replica);
      all = all && stats.epoch == 1 && stats.stable_ms > 0 &&
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
  // They are as equal as before, and what is collected stays so.
  for (const auto& replica : replicas_) {
    ASSERT_TRUE(replica->Open());
    ASSERT_TRUE(IsOk(replica->Start()));
  }
  MeetAll({&a(), &b(), &c()});
  EXPECT_GT(StatsOf(c()).stable_ms, 0u);
  EXPECT_EQ(c().Scan(), contents);
}

// What a member is said to hold of another is there: not what that one wrote
// while they talked.
TEST_F(TombstoneGc, AProofCountsForWhatBothSnapshotsHold) {
  Fill();
  ASSERT_TRUE(IsOk(a().db()->SetMembers(1, {a().id(), b().id(), c().id()})));
  b().Delete("k1");
  MeetAll({&a(), &b(), &c()});
  std::atomic<bool> stop = false;
  std::atomic<int> written = 0;
  std::atomic<int> allowed = 0;  // rounds are bounded, however slow they are
  std::thread writer([&] {
    while (!stop) {
      if (written < allowed) {
        b().Put(Numbered("w", written), "value");
        ++written;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  const auto view = StoreAccess::NewView(b().db());
  int checked = 0;
  int covered = 0;
  for (int round = 0; round < 25; ++round) {
    const int before = written;
    allowed = before + 1000;
    EXPECT_TRUE(Eventually([&] { return written > before; }));
    Meet(a(), b());
    const GcState known = StoreAccess::MembershipOf(a().db())->Now();
    const uint64_t held = known.Find(b().id())->summary;
    const int after = written;
    const auto snapshot = view->TakeSnapshot({});
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    for (; checked < after; ++checked) {
      const std::string key = Numbered("w", checked);
      const auto entry = (*snapshot)->FindKey(0, key);
      ASSERT_TRUE(entry.ok() && entry->has_value()) << key;
      if ((*entry)->version.time > held) break;
      ++covered;
      std::string value;
      EXPECT_TRUE(IsOk(a().db()->Get({}, key, &value))) << key;
    }
    if (HasFailure()) break;
  }
  stop = true;
  writer.join();
  EXPECT_GT(covered, 0);
}

// b meets only the copy of c, a only c itself, so neither can tell that there
// are two; when a and b meet, what they know of c conflicts.
TEST_F(TombstoneGc, ACopyIsNotTakenForItsOriginal) {
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
    EXPECT_EQ(StatsOf(*replica).identity_conflict, c().id());
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
  EXPECT_EQ(StatsOf(a()).identity_conflict, 0u);
  EXPECT_EQ(a().Scan().size(), 50u);
  EXPECT_EQ(b().Scan(), a().Scan());
  EXPECT_EQ(c().Scan(), a().Scan());
}

// Of two, so that no session is left that could tell.
TEST_F(TombstoneGc, TheOnlyOtherMemberHoldsThemUpWhileItIsAway) {
  Fill();
  ASSERT_TRUE(IsOk(a().db()->SetMembers(1, {a().id(), b().id()})));
  MeetAll({&a(), &b()});
  MeetAll({&a(), &b()});
  EXPECT_EQ(StatsOf(a()).held_up_by, 0u);
  const uint64_t absent = b().id();
  b().Stop();
  for (int i = 0; i < 50; ++i) a().Delete("k" + std::to_string(i));
  const auto counted = StoreAccess::NewView(a().db())->TakeSnapshot({});
  ASSERT_TRUE(counted.ok()) << counted.status();
  EXPECT_EQ(StatsOf(a()).tombstones, 50u);
  EXPECT_EQ(StatsOf(a()).held_up_by, absent);
  ASSERT_TRUE(IsOk(b().Start()));
  EXPECT_TRUE(Eventually([&] {
    MeetAll({&a(), &b()});
    return StatsOf(a()).held_up_by == 0 && StatsOf(a()).tombstones == 0;
  }));
}

TEST_F(TombstoneGc, AMemberThatWasNeverMetHoldsThemUp) {
  ASSERT_TRUE(IsOk(a().db()->SetMembers(1, {a().id(), b().id()})));
  a().Put("k", "value");
  a().Delete("k");
  const auto counted = StoreAccess::NewView(a().db())->TakeSnapshot({});
  ASSERT_TRUE(counted.ok()) << counted.status();
  EXPECT_EQ(StatsOf(a()).held_up_by, b().id());
}

TEST_F(TombstoneGc, AnAbsentMemberHoldsThemUpUntilItIsRemoved) {
  Fill();
  ASSERT_TRUE(IsOk(a().db()->SetMembers(1, {a().id(), b().id(), c().id()})));
  MeetAll({&a(), &b(), &c()});
  const uint64_t absent = c().id();
  c().Stop();
  for (int i = 0; i < 50; ++i) a().Delete("k" + std::to_string(i));
  for (int round = 0; round < 6; ++round) MeetAll({&a(), &b()});
  for (TestReplica* replica : {&a(), &b()}) {
    const TombstoneGcStats stats = StatsOf(*replica);
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
  // It is a peer no more, whose failure an operator would look into; but its
  // calls are counted. (A listener counts after the caller was told.)
  EXPECT_TRUE(Eventually(
      [&] { return a().replicator()->stats().connections_refused > 0; }));
  const ReplicationStats stats = a().replicator()->stats();
  EXPECT_EQ(PeerOf(stats, absent), nullptr);
  EXPECT_NE(stats.last_refusal.find("not in the member list of epoch 2"),
            std::string::npos)
      << stats.last_refusal;
  // Who only listens learns it too.
  EXPECT_TRUE(Eventually([&] {
    const ReplicationStats of_c = c().replicator()->stats();
    const PeerStats* const caller = PeerOf(of_c, a().id());
    return caller != nullptr && caller->sessions_failed == 1 &&
           caller->last_error.find("not in the member list of epoch 2") !=
               std::string::npos;
  }));
  EXPECT_EQ(a().Scan().size(), 50u);
  EXPECT_EQ(CountIndex(a()).tombstones, 0);
  EXPECT_EQ(CountIndex(b()).tombstones, 0);
}

// Nothing is written, while clocks go past one another: by a newer list, and
// by openings.
TEST_F(TombstoneGc, NobodyHoldsUpWhatAllHold) {
  for (int i = 0; i < 3000; ++i) a().Put("k" + std::to_string(i), "value");
  ASSERT_TRUE(IsOk(a().db()->SetMembers(1, {a().id(), b().id(), c().id()})));
  MeetAll({&a(), &b(), &c()});
  for (int i = 0; i < 20; ++i) a().Delete("k" + std::to_string(i));
  for (int round = 0; round < 2; ++round) MeetAll({&a(), &b(), &c()});
  c().Stop();
  ASSERT_TRUE(IsOk(a().db()->SetMembers(2, {a().id(), b().id()})));
  // Once the time is past the readings that an opening may have gone on to.
  const auto nobody = [&] {
    return Eventually([&] {
      MeetAll({&a(), &b()});
      return StatsOf(a()).held_up_by == 0 && StatsOf(b()).held_up_by == 0;
    });
  };
  EXPECT_TRUE(nobody());
  b().Stop();
  b().Close();
  ASSERT_TRUE(b().Open());
  ASSERT_TRUE(IsOk(b().Start()));
  EXPECT_TRUE(nobody());
  EXPECT_EQ(StatsOf(a()).tombstones, 20u);
  EXPECT_EQ(StatsOf(b()).tombstones, 20u);
}

TEST_F(TombstoneGc, WrongListsAreNamed) {
  const rocksdb::Status s = a().db()->SetMembers(1, {b().id()});
  EXPECT_TRUE(s.IsInvalidArgument());
  EXPECT_TRUE(Mentions(s, "lacks replica"));
  ASSERT_TRUE(IsOk(a().db()->SetMembers(1, {a().id(), b().id()})));
  ASSERT_TRUE(IsOk(b().db()->SetMembers(1, {a().id(), b().id(), c().id()})));
  const rocksdb::Status conflict = a().replicator()->SyncNow(b().address());
  EXPECT_TRUE(Mentions(conflict, "different member lists of one epoch, 1"));
}

// Time stands still, so that an older state of a replica's disk has
// acknowledged all readings of its clock.
class StoppedClock final : public rocksdb::EnvWrapper {
 public:
  StoppedClock() : EnvWrapper(rocksdb::Env::Default()) {}
  uint64_t NowMicros() override { return now_; }

 private:
  const uint64_t now_ = EnvWrapper::NowMicros();
};

// What the refusal recommends works.
TEST_F(TombstoneGc, WhoAcknowledgedMoreThanItKnowsOpensAsANewReplica) {
  namespace fs = std::filesystem;
  StoppedClock env;
  bool as_new = false;
  const auto adjust = [&](rocksdb::Options* options,
                          ReplicatedDBOptions* replication) {
    options->env = &env;
    replication->open_copy_as_new_replica = as_new;
  };
  TestReplica::Setting setting = SettingOf("kept");
  setting.adjust = adjust;
  TestReplica kept(setting);
  setting = SettingOf("back");
  setting.adjust = adjust;
  TestReplica back(setting);
  for (TestReplica* replica : {&kept, &back}) {
    ASSERT_TRUE(replica->Open()) << replica->open_status().ToString();
    ASSERT_TRUE(IsOk(replica->Start()));
  }
  const uint64_t id = back.id();
  kept.Put("shared", "value");
  back.Put("of the older state", "value");
  ASSERT_TRUE(IsOk(kept.db()->SetMembers(1, {kept.id(), id})));
  Meet(kept, back);
  // As a kill would leave it. RocksDB may still take away what its opening has
  // replaced.
  const fs::path image = directory_ / "image";
  fs::create_directory(image);
  for (const auto& file : fs::directory_iterator(setting.directory)) {
    if (file.path().filename() == "LOCK") continue;
    std::error_code error;
    fs::copy_file(file, image / file.path().filename(), error);
    EXPECT_TRUE(!error || error == std::errc::no_such_file_or_directory)
        << file.path() << ": " << error.message();
  }
  kept.Put("later", "value");
  // The first of two connections lets it acknowledge more, the second says so.
  // It dials: a replica that is dialed may record a proof only after SyncNow of
  // the other has returned, and be stopped before it does.
  for (int i = 0; i < 2; ++i) {
    back.Stop();
    ASSERT_TRUE(IsOk(back.Start()));
    Meet(back, kept);
  }
  back.Stop();
  back.Close();
  fs::remove_all(setting.directory);
  fs::rename(image, setting.directory);

  ASSERT_TRUE(back.Open()) << back.open_status().ToString();
  ASSERT_TRUE(IsOk(back.Start()));
  const rocksdb::Status refused = back.replicator()->SyncNow(kept.address());
  EXPECT_TRUE(Mentions(refused, "has lost state that it had acknowledged"));
  EXPECT_TRUE(Mentions(refused, "open_copy_as_new_replica"));
  back.Stop();
  back.Close();
  as_new = true;
  ASSERT_TRUE(back.Open()) << back.open_status().ToString();
  EXPECT_NE(back.id(), id);
  EXPECT_EQ(back.Scan().count("of the older state"), 1u);
}

TEST_F(TombstoneGc, WhyAListIsNotTakenOverIsSaidToWhoHandsItOn) {
  WrongClock env;
  env.ahead_ms = 600'000;
  TestReplica::Setting setting = SettingOf("ahead");
  setting.adjust = [&](rocksdb::Options* options, ReplicatedDBOptions*) {
    options->env = &env;
  };
  TestReplica ahead(setting);
  ASSERT_TRUE(ahead.Open()) << ahead.open_status().ToString();
  ASSERT_TRUE(IsOk(ahead.Start()));
  ahead.Put("key", "value");
  ASSERT_TRUE(IsOk(ahead.db()->SetMembers(1, {ahead.id(), b().id()})));
  const rocksdb::Status taught = ahead.replicator()->SyncNow(b().address());
  EXPECT_TRUE(taught.IsTryAgain()) << taught.ToString();
  EXPECT_TRUE(Mentions(taught, "the peer does not take over"));
  EXPECT_TRUE(Mentions(taught, "cannot install the member list"));
  const rocksdb::Status learned = b().replicator()->SyncNow(ahead.address());
  EXPECT_TRUE(Mentions(learned, "cannot install the member list"));
  EXPECT_EQ(StatsOf(b()).epoch, 0u);
}

// The recipe of operating.md, with a backup from after a collection: restored
// on one, empty replicas elsewhere, and a list that is set on either.
TEST_F(TombstoneGc, AWholeClusterIsRestoredFromOneBackup) {
  Fill();
  ASSERT_TRUE(IsOk(a().db()->SetMembers(4, {a().id(), b().id(), c().id()})));
  for (int i = 0; i < 50; ++i) a().Delete("k" + std::to_string(i));
  ASSERT_TRUE(Eventually([&] {
    MeetAll({&a(), &b(), &c()});
    return StatsOf(a()).tombstones == 0 && !StatsOf(a()).sweeping;
  }));
  CopyDirectory(a(), "restored for one");
  CopyDirectory(a(), "restored for other");
  const Contents contents = a().Scan();
  for (const auto& replica : replicas_) replica->Stop();

  for (const bool on_restored : {true, false}) {
    TestReplica::Setting setting =
        SettingOf(on_restored ? "restored for one" : "restored for other");
    setting.adjust = [](rocksdb::Options*, ReplicatedDBOptions* options) {
      options->open_copy_as_new_replica = true;
    };
    TestReplica restored(setting);
    ASSERT_TRUE(restored.Open()) << restored.open_status().ToString();
    ASSERT_TRUE(IsOk(restored.Start()));
    const auto empty = NewReplica(on_restored ? "empty one" : "empty other");
    ASSERT_TRUE(IsOk(empty->Start()));
    const rocksdb::Status early =
        empty->replicator()->SyncNow(restored.address());
    EXPECT_TRUE(early.IsInvalidArgument()) << early.ToString();
    EXPECT_TRUE(Mentions(early, "on either of the two"));

    TestReplica& sets = on_restored ? restored : *empty;
    ASSERT_TRUE(IsOk(sets.db()->SetMembers(5, {restored.id(), empty->id()})));
    ASSERT_TRUE(Eventually(
        [&] { return empty->replicator()->SyncNow(restored.address()).ok(); }));
    EXPECT_EQ(empty->Scan(), contents);
    EXPECT_EQ(StatsOf(restored).epoch, 5u);
    EXPECT_EQ(StatsOf(*empty).epoch, 5u);
  }
}

// An empty new member is filled; one with data of its own, once something was
// collected, is not let in.
TEST_F(TombstoneGc, NewMember) {
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
  EXPECT_TRUE(Mentions(s, "that other members have deleted"));
  const rocksdb::Status taught = a().replicator()->SyncNow(old->address());
  EXPECT_TRUE(taught.IsInvalidArgument()) << taught.ToString();
  EXPECT_TRUE(Mentions(taught, "the peer does not take over"));
  EXPECT_EQ(a().Scan().count("k3"), 0u);
}

// c has acknowledged the deletes that a and b forget, and has not heard that
// they do. The newer list is set on c, so what is compared by falls back; c is
// lost; a copy from before the deletes is opened as a new replica, and is
// listed.
TEST_F(TombstoneGc, WhatIsPurgedDoesNotReturnInANewerList) {
  Fill();
  ASSERT_TRUE(IsOk(a().db()->SetMembers(1, {a().id(), b().id(), c().id()})));
  MeetAll({&a(), &b(), &c()});
  CopyDirectory(b(), "old");
  MeetAll({&a(), &b(), &c()});
  for (int i = 0; i < 50; ++i) a().Delete("k" + std::to_string(i));
  // All clocks are past the deletes; then a hears of b once it has heard of c.
  for (TestReplica* other : {&b(), &c()}) Meet(a(), *other);
  Meet(a(), b());
  ASSERT_TRUE(Eventually([&] {
    Meet(a(), c());
    return AcknowledgedBy(c(), a()) == AcknowledgedBy(a(), a());
  }));
  ASSERT_TRUE(Eventually([&] {
    Meet(a(), b());
    return StatsOf(a()).tombstones + StatsOf(b()).tombstones == 0 &&
           !StatsOf(a()).sweeping && !StatsOf(b()).sweeping;
  }));
  ASSERT_EQ(StatsOf(c()).tombstones, 50u);

  TestReplica::Setting setting = SettingOf("old");
  setting.adjust = [](rocksdb::Options*, ReplicatedDBOptions* options) {
    options->open_copy_as_new_replica = true;
  };
  TestReplica old(setting);
  ASSERT_TRUE(old.Open()) << old.open_status().ToString();
  ASSERT_EQ(old.Scan().size(), 100u);
  c().Stop();
  ASSERT_TRUE(
      IsOk(c().db()->SetMembers(2, {a().id(), b().id(), c().id(), old.id()})));
  ASSERT_TRUE(Eventually([&] {
    Greet(c(), a().address());
    return StatsOf(a()).epoch == 2 && StatsOf(a()).stable_ms == 0;
  }));
  c().Close();

  Restart(a());
  ASSERT_TRUE(IsOk(old.Start()));
  for (int round = 0; round < 2; ++round) {
    const rocksdb::Status s = old.replicator()->SyncNow(a().address());
    EXPECT_TRUE(Mentions(s, "that other members have deleted"));
    Meet(a(), b());
  }
  for (TestReplica* replica : {&a(), &b()}) {
    EXPECT_EQ(replica->Scan().size(), 50u);
    EXPECT_EQ(replica->Scan().count("k0"), 0u);
  }
  // A copy from after it is welcome.
  CopyDirectory(b(), "young");
  setting.directory = SettingOf("young").directory;
  TestReplica young(setting);
  ASSERT_TRUE(young.Open()) << young.open_status().ToString();
  ASSERT_TRUE(IsOk(young.Start()));
  ASSERT_TRUE(IsOk(a().db()->SetMembers(3, {a().id(), b().id(), young.id()})));
  Meet(young, a());
  EXPECT_EQ(young.Scan(), a().Scan());
}

}  // namespace
}  // namespace rocksync
