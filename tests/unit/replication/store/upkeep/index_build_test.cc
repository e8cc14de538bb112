#include "replication/store/upkeep/index_build.h"

#include <gtest/gtest.h>

namespace rocksync {
namespace {

IndexBuildProgress Adopting() {
  IndexBuildProgress progress;
  progress.done = false;
  progress.percent = 37.9;
  progress.activity = "adopting";
  return progress;
}

TEST(InProgressTextTest, SaysHowFarItIsAndWhatToWaitFor) {
  EXPECT_EQ(InProgressText(Adopting()),
            "index build in progress (adopting, 37 %); wait until index.done "
            "in `rocksync status` of the replica that builds it "
            "(WaitForIndexBuild)");
}

// Peers are told it, so no path of this replica is in it.
TEST(InProgressTextTest, SaysTheKindOfErrorThatKeepsItFromGoingOn) {
  IndexBuildProgress progress = Adopting();
  progress.status = rocksdb::Status::IOError("/secret/path", "unreadable");
  EXPECT_EQ(InProgressText(progress),
            "index build in progress (adopting, 37 %): its storage failed (IO "
            "error), see its log; wait until index.done in `rocksync status` "
            "of the replica that builds it (WaitForIndexBuild)");
}

// A foreign write that was noticed just now.
TEST(InProgressTextTest, OfOneThatHasNotBegun) {
  EXPECT_EQ(InProgressText({}),
            "index build in progress (re-checking, 0 %); wait until index.done "
            "in `rocksync status` of the replica that builds it "
            "(WaitForIndexBuild)");
}

}  // namespace
}  // namespace rocksync
