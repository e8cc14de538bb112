// What the store logs of replication.

#include "examples/replicated_store/replication_news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
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

// The error of a try comes and goes while the pass runs.
TEST_F(ReplicationNewsTest, AScrubIsSaidToReadAllOnceItHas) {
  const auto logged = [&](bool running, const std::string& error,
                          uint64_t corruption = 0) {
    lines_.str("");
    ReplicationStats stats;
    stats.scrub.running = running;
    stats.scrub.last_error = error;
    stats.scrub.corruption_found = corruption;
    news_.Log(stats, {});
    return lines_.str();
  };
  EXPECT_EQ(logged(true, ""), "");
  EXPECT_THAT(logged(true, "IO error: full"),
              HasSubstr("[warning] scrub: IO error: full"));
  EXPECT_EQ(logged(true, ""), "") << "it may fail again";
  EXPECT_EQ(logged(true, "IO error: full"), "");
  EXPECT_THAT(logged(true, "passed over"), HasSubstr("scrub: passed over"));
  EXPECT_THAT(logged(false, ""), HasSubstr("[info] the scrub has read all"));
  EXPECT_EQ(logged(false, ""), "");
  EXPECT_THAT(logged(false, "", 1), HasSubstr("1 pair that is not what was"));
  EXPECT_THAT(logged(false, "", 8), HasSubstr("7 pairs that are not what was"));
  EXPECT_EQ(logged(false, "", 8), "");
}

// While a clock is wrong, each session ends so, once a second.
TEST_F(ReplicationNewsTest, SessionsThatEndUnequalAlikeAreOneLineAMinute) {
  SessionNews news;
  SessionNews::Clock::time_point now{std::chrono::hours(1)};
  SessionProgress session;
  session.peer = "b:1";
  session.finished = true;
  session.pairs_received = 2;
  session.pairs_applied = 1;
  const auto logged = [&] {
    lines_.str("");
    news.Log(session, now);
    return lines_.str();
  };
  session.error = "Result incomplete: 2 pairs too far in the future";
  EXPECT_THAT(logged(), HasSubstr("[info] session with b:1: 0 pairs sent, 2 "
                                  "received, 1 applied, "));
  for (int i = 0; i < 59; ++i) {
    now += std::chrono::seconds(1);
    session.error = "Result incomplete: 3 pairs too far in the future";
    EXPECT_EQ(logged(), "") << i;
  }
  now += std::chrono::seconds(1);
  EXPECT_THAT(logged(), HasSubstr("not yet equal"));
  session.peer = "c:1";
  EXPECT_THAT(logged(), HasSubstr("session with c:1"));
  session.peer = "b:1";
  EXPECT_EQ(logged(), "");
  session.error = "IO error: gone";
  EXPECT_THAT(logged(), HasSubstr("not yet equal")) << "another reason";
  EXPECT_EQ(logged(), "");
  session.error.clear();
  session.proven_equal = true;
  EXPECT_THAT(logged(), HasSubstr("proven equal"));
  EXPECT_THAT(logged(), HasSubstr("proven equal")) << "never held back";
  session.proven_equal = false;
  session.error = "IO error: gone";
  EXPECT_THAT(logged(), HasSubstr("not yet equal")) << "it was equal since";
}

TEST_F(ReplicationNewsTest, SaysWhatADamagedLogLost) {
  LogDroppedBatches(0);
  EXPECT_EQ(lines_.str(), "");
  LogDroppedBatches(64);
  EXPECT_THAT(lines_.str(),
              HasSubstr("[warning] the log of the database was "
                        "damaged when it was opened, now or before: 64 batches "
                        "behind the damage were dropped"));
}

}  // namespace
}  // namespace rocksync
