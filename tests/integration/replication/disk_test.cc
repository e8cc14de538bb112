// Disks that fill up or break under a replica: the error says what and what to
// do, reads go on, nothing is lost, and replication goes on when it can.

#include <gtest/gtest.h>

#include <string>

#include "tests/integration/replication/failing_disk.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/integration/store/index_equals_data.h"

namespace rocksync {
namespace {

class DiskTest : public ReplicationTest {
 protected:
  DiskTest() : disk_(MakeFailingDisk()), a_(NewReplica("a")) {
    TestReplica::Setting setting = SettingOf("b");
    setting.adjust = [this](rocksdb::Options* options, ReplicatedDBOptions*) {
      options->env = disk_.env.get();
    };
    b_ = std::make_unique<TestReplica>(setting);
    EXPECT_TRUE(b_->Open()) << b_->open_status().ToString();
    EXPECT_TRUE(IsOk(a_->Start()));
    EXPECT_TRUE(IsOk(b_->Start()));
    a_->Put("of a", "1");
    b_->Put("of b", "2");
    EXPECT_TRUE(IsOk(Sync()));
  }

  rocksdb::Status Sync() { return b_->replicator()->SyncNow(a_->address()); }
  rocksdb::Status PutOnB(const std::string& key) {
    return b_->db()->Put(rocksdb::WriteOptions(), key, "value");
  }

  // What the last error of b's peer says, to people who look at b.
  std::string LastError() {
    return b_->replicator()->stats().peers[0].last_error;
  }

  void ExpectWholeAndEqual() {
    EXPECT_TRUE(IsOk(Sync()));
    const Contents contents = a_->Scan();
    EXPECT_EQ(contents, b_->Scan());
    EXPECT_EQ(contents.count("of a"), 1u);
    EXPECT_EQ(contents.count("of b"), 1u);
    EXPECT_EQ(contents.count("while b could not write"), 1u);
    b_->Stop();
    b_->Close();
    ClusterSecret secret;
    secret.fill(b_->setting().secret);
    EXPECT_TRUE(IndexEqualsData(b_->setting().directory, secret));
  }

  FailingDisk disk_;  // outlives b_
  const std::unique_ptr<TestReplica> a_;
  std::unique_ptr<TestReplica> b_;
};

TEST_F(DiskTest, FullThenRoomIsMade) {
  const Contents before = b_->Scan();
  a_->Put("while b could not write", "3");
  *disk_.state = DiskState::kFull;

  // A session that ships to it.
  const rocksdb::Status heal = Sync();
  EXPECT_FALSE(heal.ok());
  for (const char* part : {"No space left", "make room"}) {
    EXPECT_TRUE(Mentions(heal, part));
    EXPECT_NE(LastError().find(part), std::string::npos) << LastError();
  }
  EXPECT_TRUE(Mentions(heal, b_->setting().directory)) << "which disk";
  // A write of the application, and reads.
  const rocksdb::Status put = PutOnB("refused");
  EXPECT_TRUE(put.IsNoSpace()) << put.ToString();
  EXPECT_TRUE(Mentions(put, b_->setting().directory));
  EXPECT_EQ(b_->Scan(), before);
  // The peer is told that it is not its fault, and goes on.
  const rocksdb::Status visit = a_->replicator()->SyncNow(b_->address());
  EXPECT_FALSE(visit.ok());
  EXPECT_TRUE(Mentions(visit, "the peer"));
  EXPECT_TRUE(Mentions(visit, "no space is left on its disk"));
  EXPECT_FALSE(Mentions(visit, b_->setting().directory))
      << "a path is no concern of a peer's: " << visit.ToString();
  a_->Put("of a", "later");

  *disk_.state = DiskState::kGood;
  EXPECT_TRUE(Eventually([&] { return PutOnB("again").ok(); }))
      << "RocksDB goes on by itself when there is space";
  ExpectWholeAndEqual();
}

// It was told "Broken pipe", as of a network, if it was sending still.
TEST_F(DiskTest, WhoSendsToAFullDiskIsToldThatItIsFull) {
  for (int i = 0; i < 24; ++i) {
    a_->Put(Numbered("large", i), std::string(size_t{1} << 20, 'x'));
  }
  *disk_.state = DiskState::kLittleRoom;
  const rocksdb::Status sent = a_->replicator()->SyncNow(b_->address());
  EXPECT_TRUE(Mentions(sent, "the peer's storage failed"));
  EXPECT_TRUE(Mentions(sent, "no space"));
  const auto peers = a_->replicator()->stats().peers;
  ASSERT_FALSE(peers.empty());
  EXPECT_NE(peers[0].last_error.find("no space"), std::string::npos)
      << peers[0].last_error;

  *disk_.state = DiskState::kGood;
  EXPECT_TRUE(Eventually([&] { return PutOnB("again").ok(); }));
  EXPECT_TRUE(IsOk(Sync()));
  EXPECT_EQ(a_->Scan(), b_->Scan());
}

TEST_F(DiskTest, BrokenThenOpenedAgain) {
  const Contents before = b_->Scan();
  a_->Put("while b could not write", "3");
  *disk_.state = DiskState::kBroken;
  const rocksdb::Status heal = Sync();
  EXPECT_FALSE(heal.ok());
  EXPECT_TRUE(Mentions(heal, "Input/output error"));
  EXPECT_TRUE(Mentions(heal, b_->setting().directory));
  EXPECT_TRUE(Mentions(heal, "this replica's storage failed"));
  EXPECT_FALSE(Mentions(heal, "IO error: IO error"));
  EXPECT_FALSE(PutOnB("refused").ok());
  EXPECT_EQ(b_->Scan(), before);
  b_->Stop();
  EXPECT_FALSE(b_->TryClose().ok()) << "the seal cannot be written";

  *disk_.state = DiskState::kGood;
  ASSERT_TRUE(b_->Open()) << b_->open_status().ToString();
  ASSERT_TRUE(IsOk(b_->Start()));
  ExpectWholeAndEqual();
}

TEST_F(DiskTest, AMemberListThatFindsNoRoomIsNoNewList) {
  ASSERT_TRUE(IsOk(a_->db()->SetMembers(1, {a_->id(), b_->id()})));
  *disk_.state = DiskState::kBroken;
  const rocksdb::Status taught = a_->replicator()->SyncNow(b_->address());
  EXPECT_TRUE(Mentions(taught, "the peer does not take over"));
  EXPECT_TRUE(Mentions(taught, "its storage failed (IO error)"));
  EXPECT_FALSE(Mentions(taught, b_->setting().directory)) << taught.ToString();
  EXPECT_TRUE(Mentions(Sync(), "Input/output error"));
  b_->Stop();
  EXPECT_FALSE(b_->TryClose().ok());
}

// It waited for the re-check, which cannot write down how far it is.
TEST_F(DiskTest, AScrubOfADatabaseThatIsNotWrittenSaysSo) {
  // A foreign write.
  ASSERT_TRUE(IsOk(b_->db()->GetRootDB()->Put({}, "of b", "3")));
  *disk_.state = DiskState::kBroken;
  EXPECT_FALSE(PutOnB("refused").ok());
  for (int i = 0; i < 2; ++i) {
    const rocksdb::Status scrubbed = b_->replicator()->ScrubNow();
    EXPECT_TRUE(scrubbed.IsIOError()) << scrubbed.ToString();
    EXPECT_TRUE(Mentions(scrubbed, "Input/output error"));
    EXPECT_TRUE(Mentions(scrubbed, "the scrub goes on once"));
  }
  b_->Stop();
  EXPECT_FALSE(b_->TryClose().ok());
  *disk_.state = DiskState::kGood;
  ASSERT_TRUE(b_->Open()) << b_->open_status().ToString();
  ASSERT_TRUE(IsOk(b_->Start()));
  EXPECT_TRUE(IsOk(b_->replicator()->ScrubNow()));
}

}  // namespace
}  // namespace rocksync
