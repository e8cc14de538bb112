#include "replication/peering/slow_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocksync {
namespace {

using rocksdb::Status;
using testing::HasSubstr;

TEST(SlowLink, ATimeoutNamesItsRemedyOnce) {
  const Status once = NameRemedy(Status::TimedOut("b sent nothing for 9 ms"));
  EXPECT_TRUE(once.IsTimedOut());
  EXPECT_THAT(once.ToString(), HasSubstr("b sent nothing for 9 ms: if the link "
                                         "is slow, raise io_timeout"));
  EXPECT_THAT(once.ToString(), HasSubstr("--peer-timeout-ms"));
  EXPECT_EQ(NameRemedy(once).ToString(), once.ToString());
}

TEST(SlowLink, OtherStatusesStayAsTheyAre) {
  EXPECT_TRUE(NameRemedy(Status::OK()).ok());
  const Status broken = Status::IOError("b", "Broken pipe");
  EXPECT_EQ(NameRemedy(broken).ToString(), broken.ToString());
}

}  // namespace
}  // namespace rocksync
