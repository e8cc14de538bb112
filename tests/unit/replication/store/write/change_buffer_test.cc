#include "replication/store/write/change_buffer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace rocksync {
namespace {

constexpr size_t kCapacity = size_t{1} << 20;

void Append(ChangeBuffer* buffer, const std::string& key,
            const std::string& value, uint64_t time = 1) {
  const Change change{3, key, {time, 7}, false, value};
  buffer->Append({&change, 1});
}

std::vector<std::string> Keys(const ChangeBuffer::Reader::Taken& taken) {
  std::vector<std::string> keys;
  for (const Change& change : taken.changes) keys.emplace_back(change.key);
  return keys;
}

TEST(ChangeBuffer, HoldsNothingWithoutAReader) {
  ChangeBuffer buffer;
  EXPECT_FALSE(buffer.attached());
  Append(&buffer, "lost", "");
  EXPECT_EQ(buffer.end(), 0u);
  {
    ChangeBuffer::Reader reader(&buffer, kCapacity);
    EXPECT_TRUE(buffer.attached());
    EXPECT_TRUE(reader.Take(100).changes.empty());
    Append(&buffer, "seen", "");
    EXPECT_EQ(Keys(reader.Take(100)), std::vector<std::string>{"seen"});
  }
  EXPECT_FALSE(buffer.attached());
}

TEST(ChangeBuffer, WhatComesFromWhomOthersDoNotReachIsPassedOn) {
  ChangeBuffer buffer;
  buffer.SetPassesOn(/*all=*/false, {2, 3});
  EXPECT_FALSE(buffer.passes_on(2));
  EXPECT_TRUE(buffer.passes_on(4));
  buffer.SetPassesOn(/*all=*/true, {2, 3});
  EXPECT_TRUE(buffer.passes_on(2));
}

TEST(ChangeBuffer, EachReaderGetsAllInOrder) {
  ChangeBuffer buffer;
  ChangeBuffer::Reader one(&buffer, kCapacity);
  Append(&buffer, "a", "1", 10);
  ChangeBuffer::Reader other(&buffer, kCapacity);
  Append(&buffer, "b", "2", 11);
  const Change gone{4, "c", {12, 9}, true, {}, 5};
  buffer.Append({&gone, 1});

  const ChangeBuffer::Reader::Taken& taken = one.Take(1000);
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

TEST(ChangeBuffer, ALittleIsTakenAtATime) {
  ChangeBuffer buffer;
  ChangeBuffer::Reader reader(&buffer, kCapacity);
  const std::string value(1000, 'v');
  // Over several segments.
  for (int i = 0; i < 900; ++i) Append(&buffer, std::to_string(i), value);
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

TEST(ChangeBuffer, WhoFallsBehindIsToldWhatItLost) {
  ChangeBuffer buffer;
  ChangeBuffer::Reader reader(&buffer, kCapacity);
  const std::string value(10'000, 'v');
  for (int i = 0; i < 300; ++i) Append(&buffer, std::to_string(i), value);
  const ChangeBuffer::Reader::Taken& taken = reader.Take(100'000);
  EXPECT_EQ(taken.lost, 300u) << "what is left is given up with the rest";
  EXPECT_TRUE(taken.changes.empty());
  EXPECT_EQ(reader.backlog().changes, 0u);
  Append(&buffer, "later", value);
  EXPECT_EQ(Keys(reader.Take(100'000)), std::vector<std::string>{"later"});
  EXPECT_EQ(reader.Take(1).lost, 0u) << "told once";
}

TEST(ChangeBuffer, WhatIsTooLargeIsLeftOut) {
  ChangeBuffer buffer;
  ChangeBuffer::Reader reader(&buffer, kCapacity);
  Append(&buffer, "large value",
         std::string(ChangeBuffer::kMaxChangeBytes, 'v'));
  Append(&buffer, std::string(ChangeBuffer::kMaxChangeBytes + 1, 'k'), "");
  Append(&buffer, "small", "v");
  const ChangeBuffer::Reader::Taken& taken = reader.Take(1000);
  ASSERT_EQ(taken.changes.size(), 3u);
  EXPECT_TRUE(taken.changes[0].left_out);
  EXPECT_EQ(taken.changes[0].key, "large value");
  EXPECT_EQ(taken.changes[0].value, "");
  EXPECT_TRUE(taken.changes[1].left_out);
  EXPECT_EQ(taken.changes[1].key, "");
  EXPECT_FALSE(taken.changes[2].left_out);
}

TEST(ChangeBuffer, WakesWhoWaits) {
  ChangeBuffer buffer;
  ChangeBuffer::Reader reader(&buffer, kCapacity);
  const auto never = ChangeBuffer::Clock::now() + std::chrono::hours(1);
  std::thread writer([&] { Append(&buffer, "k", "v"); });
  reader.Wait(never, /*ignore_changes=*/false);
  writer.join();
  EXPECT_EQ(Keys(reader.Take(1000)), std::vector<std::string>{"k"});
  reader.Interrupt();
  reader.Wait(never, /*ignore_changes=*/false);
  Append(&buffer, "another", "v");
  reader.Wait(ChangeBuffer::Clock::now(), /*ignore_changes=*/true);
  EXPECT_EQ(reader.backlog().changes, 1u);
}

// For the race detector, and for the order of one writer's changes.
TEST(ChangeBuffer, WritersAndReadersAtOnce) {
  ChangeBuffer buffer;
  constexpr int kWriters = 3;
  constexpr uint64_t kChanges = 20'000;
  ChangeBuffer::Reader reader(&buffer, size_t{64} << 20);
  ChangeBuffer::Reader slow(&buffer, size_t{1} << 20);
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&buffer, w] {
      for (uint64_t i = 1; i <= kChanges; ++i) {
        Append(&buffer, std::string(1, static_cast<char>('a' + w)),
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
