#include "replication/store/write/write_stall.h"

#include <gtest/gtest.h>

namespace rocksync {
namespace {

using rocksdb::Status;

TEST(WaitOutStallTest, TriesAgainWhileItWouldWait) {
  int tries = 0;
  const Status status = WaitOutStall(
      [&] { return ++tries < 3 ? Status::Incomplete() : Status::OK(); },
      /*gives_up=*/{});
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(tries, 3);
}

TEST(WaitOutStallTest, AnErrorIsNotTriedAgain) {
  int tries = 0;
  const Status status = WaitOutStall(
      [&] {
        ++tries;
        return Status::IOError();
      },
      /*gives_up=*/{});
  EXPECT_TRUE(status.IsIOError());
  EXPECT_EQ(tries, 1);
}

TEST(WaitOutStallTest, GivesUpAfterATryAtLeast) {
  int tries = 0;
  const Status status = WaitOutStall(
      [&] {
        ++tries;
        return Status::Incomplete("why");
      },
      [] { return true; });
  EXPECT_TRUE(status.IsIncomplete());
  EXPECT_NE(status.ToString().find("why"), std::string::npos);
  EXPECT_EQ(tries, 1);
}

TEST(WritePatientlyTest, WhoGaveUpIsToldOfTheStall) {
  const Status status = WritePatiently([] { return Status::Incomplete(); },
                                       std::chrono::milliseconds(0));
  EXPECT_TRUE(status.IsBusy()) << status.ToString();
  EXPECT_NE(status.ToString().find("stalls writes"), std::string::npos);
}

}  // namespace
}  // namespace rocksync
