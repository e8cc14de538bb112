#include "replication/peering/timeout_remedy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocksync {
namespace {

using rocksdb::Status;
using testing::HasSubstr;

TEST(TimeoutRemedy, ATimeoutNamesItsRemedyOnce) {
  const Status once =
      AddTimeoutRemedy(Status::TimedOut("b sent nothing for 9 ms"));
  EXPECT_TRUE(once.IsTimedOut());
  EXPECT_THAT(once.ToString(), HasSubstr("b sent nothing for 9 ms: if the link "
                                         "is slow, raise io_timeout"));
  EXPECT_THAT(once.ToString(), HasSubstr("--peer-timeout-ms"));
  EXPECT_EQ(AddTimeoutRemedy(once).ToString(), once.ToString());
}

TEST(TimeoutRemedy, OtherStatusesStayAsTheyAre) {
  EXPECT_TRUE(AddTimeoutRemedy(Status::OK()).ok());
  const Status broken = Status::IOError("b", "Broken pipe");
  EXPECT_EQ(AddTimeoutRemedy(broken).ToString(), broken.ToString());
}

}  // namespace
}  // namespace rocksync
