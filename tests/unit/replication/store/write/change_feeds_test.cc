#include "replication/store/write/change_feeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace rocksync {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr milliseconds kNow{0};
constexpr milliseconds kLong{60'000};

class ChangeFeedsTest : public ::testing::Test {
 protected:
  std::unique_ptr<ChangeFeed> Subscribe(size_t bytes = 1 << 20) {
    std::unique_ptr<ChangeFeed> feed;
    EXPECT_TRUE(feeds_->Subscribe({.buffer_bytes = bytes}, &feed).ok());
    return feed;
  }
  void Publish(const std::vector<std::string>& keys) {
    std::vector<AppliedChange> changes(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      changes[i].family = "default";
      changes[i].key = keys[i];
      changes[i].version = {.time = 1, .replica = 2};
    }
    feeds_->Publish(changes, 3);
  }
  // Keys of what is fetched; `missed_` besides.
  std::vector<std::string> Fetch(ChangeFeed* feed, milliseconds timeout) {
    std::vector<FeedChange> changes;
    status_ = feed->Next(timeout, &changes, &missed_);
    std::vector<std::string> keys;
    for (const FeedChange& change : changes) {
      EXPECT_EQ(change.source, 3u);
      EXPECT_EQ(change.version.replica, 2u);
      keys.push_back(change.key);
    }
    return keys;
  }

  std::unique_ptr<ChangeFeeds> feeds_ = std::make_unique<ChangeFeeds>();
  rocksdb::Status status_;
  uint64_t missed_ = 0;
};

TEST_F(ChangeFeedsTest, EachSubscriberGetsAllInOrder) {
  EXPECT_FALSE(feeds_->any());
  const auto one = Subscribe();
  EXPECT_TRUE(feeds_->any());
  Publish({"a", "b"});
  const auto other = Subscribe();
  Publish({"c"});
  EXPECT_THAT(Fetch(one.get(), kNow), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Fetch(other.get(), kNow), ElementsAre("c"));
  EXPECT_EQ(missed_, 0u);
  EXPECT_THAT(Fetch(one.get(), kNow), IsEmpty());
  EXPECT_TRUE(status_.IsTimedOut());
}

TEST_F(ChangeFeedsTest, WhatDoesNotFitIsCountedInItsPlace) {
  const auto feed = Subscribe(4096);
  std::vector<std::string> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back("key" + std::to_string(i));
    Publish({all.back()});
  }
  std::vector<std::string> got = Fetch(feed.get(), kNow);
  ASSERT_THAT(got.size(),
              ::testing::AllOf(::testing::Gt(5u), ::testing::Lt(100u)));
  EXPECT_EQ(got.size() + missed_, 100u);
  all.resize(got.size());
  EXPECT_EQ(got, all) << "the first ones, without holes";
  Publish({"after"});
  EXPECT_THAT(Fetch(feed.get(), kNow), ElementsAre("after"));
  EXPECT_EQ(missed_, 0u);
}

TEST_F(ChangeFeedsTest, OneLargerThanTheBufferIsMissed) {
  const auto feed = Subscribe(4096);
  Publish({std::string(5000, 'k')});
  EXPECT_THAT(Fetch(feed.get(), kLong), IsEmpty());
  EXPECT_TRUE(status_.ok());
  EXPECT_EQ(missed_, 1u);
}

TEST_F(ChangeFeedsTest, WaitsForAChangeAndForTheEnd) {
  const auto feed = Subscribe();
  std::thread publisher([this] { Publish({"late"}); });
  EXPECT_THAT(Fetch(feed.get(), kLong), ElementsAre("late"));
  publisher.join();
  std::thread closer([this] { feeds_->Close(); });
  EXPECT_THAT(Fetch(feed.get(), kLong), IsEmpty());
  EXPECT_TRUE(status_.IsAborted());
  closer.join();
}

TEST_F(ChangeFeedsTest, OutlivesTheFeedsAndTellsWhatCame) {
  const auto feed = Subscribe();
  Publish({"last"});
  feeds_.reset();
  EXPECT_THAT(Fetch(feed.get(), kLong), ElementsAre("last"));
  EXPECT_THAT(Fetch(feed.get(), kLong), IsEmpty());
  EXPECT_TRUE(status_.IsAborted());
}

TEST_F(ChangeFeedsTest, RefusesWhatCannotWork) {
  std::unique_ptr<ChangeFeed> feed;
  EXPECT_TRUE(
      feeds_->Subscribe({.buffer_bytes = 100}, &feed).IsInvalidArgument());
  EXPECT_TRUE(
      feeds_->Subscribe({.buffer_bytes = SIZE_MAX}, &feed).IsInvalidArgument());
  feeds_->Close();
  EXPECT_TRUE(feeds_->Subscribe({}, &feed).IsAborted());
  EXPECT_EQ(feed, nullptr);
}

TEST_F(ChangeFeedsTest, NobodyIsThereOnceAllAreGone) {
  auto feed = Subscribe();
  feed.reset();
  EXPECT_FALSE(feeds_->any());
  Publish({"a"});
}

}  // namespace
}  // namespace rocksync
