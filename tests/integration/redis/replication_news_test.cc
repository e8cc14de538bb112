// What the store logs of replication.

#include "examples/replicated_store/replication_news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"

namespace rocksync {
namespace {

using testing::HasSubstr;

class ReplicationNewsTest : public testing::Test {
 protected:
  void SetUp() override {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_st>(lines_)));
  }
  void TearDown() override { spdlog::set_default_logger(before_); }

  // What is logged when pairs of this replica are held back; 0: of none.
  std::string LoggedOf(uint64_t held_back_replica) {
    lines_.str("");
    IndexStats index;
    index.held_back_replica = held_back_replica;
    news_.Log({}, index);
    return lines_.str();
  }

  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  std::ostringstream lines_;
  ReplicationNews news_;
};

TEST_F(ReplicationNewsTest, SaysWhoseClockIsAheadOnce) {
  EXPECT_EQ(LoggedOf(0), "");
  const std::string line = LoggedOf(0xab);
  EXPECT_THAT(line, HasSubstr("[warning] holding back pairs of replica "
                              "00000000000000ab"));
  EXPECT_THAT(line, HasSubstr("`rocksync restamp`"));
  EXPECT_EQ(LoggedOf(0xab), "");
  EXPECT_EQ(LoggedOf(0xcd), "") << "it takes turns with the first one";
  EXPECT_THAT(LoggedOf(0), HasSubstr("no pair was held back for a minute"));
  EXPECT_EQ(LoggedOf(0), "");
}

}  // namespace
}  // namespace rocksync
