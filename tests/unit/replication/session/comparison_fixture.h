// The parts of one side's comparison over a set in memory, without a session.

#ifndef ROCKSYNC_TESTS_UNIT_REPLICATION_SESSION_COMPARISON_FIXTURE_H_
#define ROCKSYNC_TESTS_UNIT_REPLICATION_SESSION_COMPARISON_FIXTURE_H_

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "replication/session/comparison_parts.h"
#include "replication/session/messages.h"
#include "replication/session/turn.h"
#include "tests/unit/replication/session/session_fixture.h"

namespace rocksync {

class ComparisonTest : public SessionTest {
 protected:
  ComparisonTest() { turn_.BeginPiece(); }

  // The one message that was said, without its head.
  std::string Said(MessageType type) {
    EXPECT_EQ(turn_.last_type(), type);
    turn_.Close(0);
    std::string message;
    PairBytes pairs;
    EXPECT_TRUE(turn_.Pop(&message, &pairs));
    EXPECT_TRUE(turn_.empty());
    turn_ = Turn(size_t{1} << 20);
    turn_.BeginPiece();
    return message.substr(1);
  }

  MemoryStorage storage_ = [this] {
    MemoryStorage storage = Replica(1);
    for (int i = 0; i < 100; ++i) storage.Put(0, absl::StrCat(i), "value");
    return storage;
  }();
  const SessionContext session_ = [this] {
    SessionContext context;
    context.storage = &storage_;
    context.now_ms = [] { return uint64_t{0}; };
    return context;
  }();
  const SessionOptions options_ = [] {
    SessionOptions options;
    options.max_batch_elements = 10;
    return options;
  }();
  SessionReport report_;
  const PartContext context_ = {&session_, &options_, &report_};
  ComparisonParts parts_{context_, ExchangeSeries({}, {}, &report_),
                         *SessionSnapshot::Take(context_)};
  Turn turn_{size_t{1} << 20};
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_REPLICATION_SESSION_COMPARISON_FIXTURE_H_
