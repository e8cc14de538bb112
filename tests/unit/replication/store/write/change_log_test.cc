#include "replication/store/write/change_log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace rocksync {
namespace {

constexpr size_t kCapacity = size_t{1} << 20;

void Append(ChangeLog* log, const std::string& key, const std::string& value,
            uint64_t time = 1) {
  const Change change{3, key, {time, 7}, false, value};
  log->Append({&change, 1});
}

std::vector<std::string> Keys(const ChangeLog::Reader::Taken& taken) {
  std::vector<std::string> keys;
  for (const Change& change : taken.changes) keys.emplace_back(change.key);
  return keys;
}

TEST(ChangeLog, HoldsNothingWithoutAReader) {
  ChangeLog log;
  EXPECT_FALSE(log.attached());
  Append(&log, "lost", "");
  EXPECT_EQ(log.end(), 0u);
  {
    ChangeLog::Reader reader(&log, kCapacity);
    EXPECT_TRUE(log.attached());
    EXPECT_TRUE(reader.Take(100).changes.empty());
    Append(&log, "seen", "");
    EXPECT_EQ(Keys(reader.Take(100)), std::vector<std::string>{"seen"});
  }
  EXPECT_FALSE(log.attached());
}

TEST(ChangeLog, WhatComesFromWhomOthersDoNotReachIsPassedOn) {
  ChangeLog log;
  log.SetPassesOn(/*all=*/false, {2, 3});
  EXPECT_FALSE(log.passes_on(2));
  EXPECT_TRUE(log.passes_on(4));
  log.SetPassesOn(/*all=*/true, {2, 3});
  EXPECT_TRUE(log.passes_on(2));
}

TEST(ChangeLog, EachReaderGetsAllInOrder) {
  ChangeLog log;
  ChangeLog::Reader one(&log, kCapacity);
  Append(&log, "a", "1", 10);
  ChangeLog::Reader other(&log, kCapacity);
  Append(&log, "b", "2", 11);
  const Change gone{4, "c", {12, 9}, true, {}, 5};
  log.Append({&gone, 1});

  const ChangeLog::Reader::Taken& taken = one.Take(1000);
  ASSERT_EQ(Keys(taken), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(taken.last, 3u);
  EXPECT_EQ(taken.lost, 0u);
  EXPECT_EQ(taken.changes[0].family_id, 3u);
  EXPECT_EQ(taken.changes[0].value, "1");
  EXPECT_EQ(taken.changes[0].version, (Version{10, 7}));
  EXPECT_EQ(taken.changes[0].source, 0u);
  EXPECT_TRUE(taken.changes[2].tombstone);
  EXPECT_EQ(taken.changes[2].source, 5u);
  EXPECT_EQ(Keys(other.Take(1000)), (std::vector<std::string>{"b", "c"}));
  EXPECT_TRUE(one.Take(1000).changes.empty());
}

TEST(ChangeLog, ALittleIsTakenAtATime) {
  ChangeLog log;
  ChangeLog::Reader reader(&log, kCapacity);
  const std::string value(1000, 'v');
  // Over several segments.
  for (int i = 0; i < 900; ++i) Append(&log, std::to_string(i), value);
  EXPECT_EQ(reader.backlog().changes, 900u);
  int next = 0;
  while (next < 900) {
    const std::vector<std::string> keys = Keys(reader.Take(5000));
    ASSERT_GE(keys.size(), 1u);
    ASSERT_LE(keys.size(), 5u);
    for (const std::string& key : keys) ASSERT_EQ(key, std::to_string(next++));
    ASSERT_EQ(reader.backlog().changes, 900u - static_cast<unsigned>(next));
  }
  EXPECT_TRUE(reader.Take(5000).changes.empty());
}

TEST(ChangeLog, WhoFallsBehindIsToldWhatItLost) {
  ChangeLog log;
  ChangeLog::Reader reader(&log, kCapacity);
  const std::string value(10'000, 'v');
  for (int i = 0; i < 300; ++i) Append(&log, std::to_string(i), value);
  const ChangeLog::Reader::Taken& taken = reader.Take(100'000);
  EXPECT_EQ(taken.lost, 300u) << "what is left is given up with the rest";
  EXPECT_TRUE(taken.changes.empty());
  EXPECT_EQ(reader.backlog().changes, 0u);
  Append(&log, "later", value);
  EXPECT_EQ(Keys(reader.Take(100'000)), std::vector<std::string>{"later"});
  EXPECT_EQ(reader.Take(1).lost, 0u) << "told once";
}

TEST(ChangeLog, WhatIsTooLargeIsLeftOut) {
  ChangeLog log;
  ChangeLog::Reader reader(&log, kCapacity);
  Append(&log, "large value", std::string(ChangeLog::kMaxChangeBytes, 'v'));
  Append(&log, std::string(ChangeLog::kMaxChangeBytes + 1, 'k'), "");
  Append(&log, "small", "v");
  const ChangeLog::Reader::Taken& taken = reader.Take(1000);
  ASSERT_EQ(taken.changes.size(), 3u);
  EXPECT_TRUE(taken.changes[0].left_out);
  EXPECT_EQ(taken.changes[0].key, "large value");
  EXPECT_EQ(taken.changes[0].value, "");
  EXPECT_TRUE(taken.changes[1].left_out);
  EXPECT_EQ(taken.changes[1].key, "");
  EXPECT_FALSE(taken.changes[2].left_out);
}

TEST(ChangeLog, WakesWhoWaits) {
  ChangeLog log;
  ChangeLog::Reader reader(&log, kCapacity);
  const auto never = ChangeLog::Clock::now() + std::chrono::hours(1);
  std::thread writer([&] { Append(&log, "k", "v"); });
  reader.Wait(never, /*ignore_changes=*/false);
  writer.join();
  EXPECT_EQ(Keys(reader.Take(1000)), std::vector<std::string>{"k"});
  reader.Interrupt();
  reader.Wait(never, /*ignore_changes=*/false);
  Append(&log, "another", "v");
  reader.Wait(ChangeLog::Clock::now(), /*ignore_changes=*/true);
  EXPECT_EQ(reader.backlog().changes, 1u);
}

// For the race detector, and for the order of one writer's changes.
TEST(ChangeLog, WritersAndReadersAtOnce) {
  ChangeLog log;
  constexpr int kWriters = 3;
  constexpr uint64_t kChanges = 20'000;
  ChangeLog::Reader reader(&log, size_t{64} << 20);
  ChangeLog::Reader slow(&log, size_t{1} << 20);
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&log, w] {
      for (uint64_t i = 1; i <= kChanges; ++i) {
        Append(&log, std::string(1, static_cast<char>('a' + w)),
               std::string(i % 50, 'v'), i);
      }
    });
  }
  uint64_t seen = 0;
  uint64_t last[kWriters] = {};
  uint64_t lost = 0;
  while (seen + lost < kWriters * kChanges) {
    const auto& taken = reader.Take(10'000);
    lost += taken.lost;
    for (const Change& change : taken.changes) {
      uint64_t* const before = &last[change.key[0] - 'a'];
      ASSERT_GT(change.version.time, *before);
      ASSERT_EQ(change.value.size(), change.version.time % 50);
      *before = change.version.time;
      ++seen;
    }
  }
  for (std::thread& writer : writers) writer.join();
  uint64_t counted = 0;
  while (true) {
    const auto& taken = slow.Take(10'000);
    if (taken.changes.empty() && taken.lost == 0) break;
    counted += taken.changes.size() + taken.lost;
  }
  EXPECT_EQ(counted, kWriters * kChanges);
}

}  // namespace
}  // namespace rocksync
