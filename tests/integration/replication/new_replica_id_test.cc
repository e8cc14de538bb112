// The id that an application chooses for a database's first opening.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "replication/base/rocksdb_version.h"
#include "tests/integration/replication/replica_fixture.h"

namespace rocksync {
namespace {

class NewReplicaId : public ReplicationTest {
 protected:
  TestReplica::Setting With(uint64_t id, bool copy = false) const {
    TestReplica::Setting setting = SettingOf("db");
    setting.adjust = [id, copy](rocksdb::Options*,
                                ReplicatedDBOptions* options) {
      options->new_replica_id = id;
      options->open_copy_as_new_replica = copy;
    };
    return setting;
  }
};

TEST_F(NewReplicaId, IsThatOfTheFirstOpening) {
  TestReplica replica(With(0xa1));
  ASSERT_TRUE(replica.Open());
  EXPECT_EQ(replica.id(), 0xa1u);
  replica.Close();
  TestReplica again(With(0xa2));
  ASSERT_TRUE(again.Open());
  EXPECT_EQ(again.id(), 0xa1u);
}

TEST_F(NewReplicaId, OfAPlainDatabaseThatIsAdopted) {
  rocksdb::Options options;
  options.create_if_missing = true;
  std::unique_ptr<rocksdb::DB> plain;
  ASSERT_TRUE(IsOk(OpenPlain(options, SettingOf("db").directory, &plain)));
  plain.reset();
  TestReplica replica(With(0xa1));
  ASSERT_TRUE(replica.Open());
  EXPECT_EQ(replica.id(), 0xa1u);
}

TEST_F(NewReplicaId, IsNotThatOfACopy) {
  TestReplica original(With(0xa1));
  ASSERT_TRUE(original.Open());
  original.Close();
  std::filesystem::remove(original.setting().directory + "/ROCKSYNC");
  TestReplica copy(With(0xa1, /*copy=*/true));
  ASSERT_TRUE(copy.Open()) << copy.open_status().ToString();
  EXPECT_NE(copy.id(), 0xa1u);
}

// An id that peers have met is not a new replica's: its versions would be
// issued twice.
TEST_F(NewReplicaId, PeersRefuseOneThatTheyHaveMet) {
  const auto peer = NewReplica("peer");
  ASSERT_TRUE(IsOk(peer->Start()));
  TestReplica lost(With(0xa1));
  for (int opening = 1; opening <= 2; ++opening) {
    ASSERT_TRUE(lost.Open()) << lost.open_status().ToString();
    EXPECT_EQ(lost.id(), 0xa1u);
    ASSERT_TRUE(IsOk(lost.Start()));
    const rocksdb::Status dialed = lost.replicator()->SyncNow(peer->address());
    const rocksdb::Status visited = peer->replicator()->SyncNow(lost.address());
    if (opening == 1) {
      EXPECT_TRUE(IsOk(dialed));
      EXPECT_TRUE(IsOk(visited));
    } else {
      EXPECT_TRUE(dialed.IsInvalidArgument()) << dialed.ToString();
      EXPECT_TRUE(visited.IsInvalidArgument()) << visited.ToString();
    }
    lost.Stop();
    lost.Close();
    std::filesystem::remove_all(lost.setting().directory);
  }
}

TEST_F(NewReplicaId, TheFileOfTheToolSaysAnother) {
  const std::string directory = SettingOf("db").directory;
  std::filesystem::create_directory(directory);
  std::ofstream(directory + "/ROCKSYNC.id") << "00000000000000aa\n";
  TestReplica other(With(0xa1));
  EXPECT_FALSE(other.Open());
  EXPECT_TRUE(other.open_status().IsInvalidArgument());
  EXPECT_TRUE(Mentions(other.open_status(), "00000000000000a1"));
  EXPECT_TRUE(Mentions(other.open_status(), "says 00000000000000aa"));
  TestReplica same(With(0xaa));
  ASSERT_TRUE(same.Open()) << same.open_status().ToString();
  EXPECT_EQ(same.id(), 0xaau);
}

}  // namespace
}  // namespace rocksync
