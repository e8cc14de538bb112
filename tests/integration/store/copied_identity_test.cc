// Copies of a database are recognised, and open as new replicas if they are
// asked to.

#include <filesystem>
#include <memory>
#include <string>

#include "replication/store/upkeep/peer_memory.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

class CopiedIdentityTest : public StoreTest {};

TEST_F(CopiedIdentityTest, CheckpointIsRecognisedAsACopy) {
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
  ASSERT_ROCKS_OK(copy->WaitForIndexBuild(60000));
  EXPECT_EQ(Total(copy.get()), Total());
  ASSERT_ROCKS_OK(copy->Put({}, "k", "of the copy"));
  ASSERT_ROCKS_OK(copy->Close());
  copy.reset();
  EXPECT_TRUE(IndexEqualsData(Dir("copy"), replication_.cluster_secret));
  // It is a replica like any other now.
  replication_.open_copy_as_new_replica = false;
  ASSERT_ROCKS_OK(OpenOther("copy", &copy));
}

TEST_F(CopiedIdentityTest, RestoredBackupIsRecognisedAsACopy) {
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
  ASSERT_ROCKS_OK(copy->WaitForIndexBuild(60000));
  EXPECT_EQ(Total(copy.get()), Total());
}

// `cp -a` of a closed database cannot be told from the original by itself: the
// peers notice.
TEST_F(CopiedIdentityTest, PeersNoticeCopiedDirectoriesAndRollbacks) {
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
TEST_F(CopiedIdentityTest, ACopyIsKnownHoweverOftenItWasOpened) {
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
TEST_F(CopiedIdentityTest, CopiedDirectoryOpensAsNewReplicaIfAskedTo) {
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
TEST_F(CopiedIdentityTest, ACopyThatWasOpenedBeforeOpensAsNewReplicaIfAskedTo) {
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
TEST_F(CopiedIdentityTest, WhoMetItselfOpensAsNewReplicaIfAskedTo) {
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

TEST_F(CopiedIdentityTest,
       WhoAcknowledgedMoreOpensAsNewReplicaUnlessTakenBack) {
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
TEST_F(CopiedIdentityTest, ThatTheOptionHadNoEffectIsLogged) {
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

TEST_F(CopiedIdentityTest, MovedDirectoryStaysTheSameReplica) {
  ASSERT_ROCKS_OK(Open());
  const uint64_t id = db_->Identity().replica_id;
  db_.reset();
  std::filesystem::rename(Dir(), Dir("moved"));
  ASSERT_ROCKS_OK(Open("moved"));
  EXPECT_EQ(db_->Identity().replica_id, id);
}

}  // namespace
}  // namespace rocksync
