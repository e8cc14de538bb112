// Member lists on a replica: which one counts, and whose they are.

#include <filesystem>

#include "replication/store/store_access.h"
#include "replication/store/upkeep/membership.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

class MemberListOnDiskTest : public StoreTest {
 protected:
  static constexpr uint64_t kPeer = 99;

  Membership* membership() { return StoreAccess::MembershipOf(db_.get()); }
  rocksdb::Status Set(uint64_t epoch) {
    return db_->SetMembers(epoch, {db_->Identity().replica_id, kPeer});
  }
};

// Two sessions of a replica may learn of two lists, the older one last.
TEST_F(MemberListOnDiskTest, AnOlderListIsNotLearned) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Set(1));
  const Announcement older = membership()->Announce();
  ASSERT_ROCKS_OK(Set(2));
  EXPECT_ROCKS_OK(membership()->Learn(older));
  EXPECT_EQ(membership()->Now().epoch, 2u);
}

// Or a slip of the operator would leave no epoch for another list.
TEST_F(MemberListOnDiskTest, AnEpochDoesNotLeapAhead) {
  constexpr uint64_t kFurthest = uint64_t{1} << 32;
  ASSERT_ROCKS_OK(Open());
  for (const uint64_t epoch : {kFurthest + 1, UINT64_MAX}) {
    const rocksdb::Status refused = Set(epoch);
    EXPECT_TRUE(refused.IsInvalidArgument()) << refused.ToString();
    EXPECT_NE(refused.ToString().find("at most"), std::string::npos)
        << refused.ToString();
  }
  ASSERT_ROCKS_OK(Set(kFurthest));
  EXPECT_TRUE(Set(2 * kFurthest + 1).IsInvalidArgument());
  ASSERT_ROCKS_OK(Set(2 * kFurthest));
}

TEST_F(MemberListOnDiskTest, ACopyIsNoMemberInPlaceOfItsOriginal) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Set(1));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  std::filesystem::copy(Dir(), Dir("copy"),
                        std::filesystem::copy_options::recursive);
  replication_.open_copy_as_new_replica = true;
  ASSERT_ROCKS_OK(OpenOther("copy", &db_));
  EXPECT_EQ(db_->GetTombstoneGcStats().epoch, 0u);
}

}  // namespace
}  // namespace rocksync
