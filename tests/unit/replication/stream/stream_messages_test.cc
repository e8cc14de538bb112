#include "replication/stream/stream_messages.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "replication/session/messages.h"

namespace rocksync {
namespace {

std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    hex += kDigits[static_cast<uint8_t>(c) >> 4];
    hex += kDigits[static_cast<uint8_t>(c) & 0xf];
  }
  return hex;
}

TEST(StreamMessages, AsBytes) {
  EXPECT_EQ(Hex(EncodeStreamOpen({300, 5, "z"})), "1eac0205017a");
  EXPECT_EQ(Hex(EncodeStreamCount(StreamMessageType::kAck, 128)), "028001");
  EXPECT_EQ(Hex(EncodeStreamCount(StreamMessageType::kGap, 7)), "0307");
  EXPECT_EQ(Hex(EncodeAlive()), "04");

  ChangesEncoder changes;
  changes.Add(0, "k", {uint64_t{2} << 16 | 1, 5}, false, "v!");
  changes.Add(1, "l", {uint64_t{2} << 16 | 2, 5}, true, {});
  EXPECT_EQ(Hex(changes.message()),
            "01"                  // kChanges
            "00016b"              // family, key
            "0901"                // 2 ms later than 0, counter 1
            "000000000000000005"  // the first replica, and its id
            "09"                  // 2 bytes, kind 1
            "7621"                // the value
            "01016c"              // family, key
            "010200"              // the same ms, counter 2, the same replica
            "00");                // a tombstone
  EXPECT_EQ(changes.count(), 2u);
  changes.Clear();
  EXPECT_EQ(Hex(changes.message()), "01");
}

TEST(StreamMessages, ComeBackAsTheyWere) {
  StreamOpen open;
  ASSERT_TRUE(DecodeStreamOpen(EncodeStreamOpen({300, 5, "z"}), &open).ok());
  EXPECT_EQ(open.window_bytes, 300u);
  EXPECT_EQ(open.idle_timeout_ms, 5u);
  EXPECT_EQ(open.zone, "z");
  // What later versions add.
  ASSERT_TRUE(
      DecodeStreamOpen(EncodeStreamOpen({300, 5, ""}) + "more", &open).ok());

  ChangesEncoder changes;
  changes.Add(0, "k", {77, 5}, false, "value");
  changes.Add(1, "", {76, 6}, true, {});
  std::vector<Pair> pairs;
  const std::string body = changes.message().substr(1);
  ASSERT_TRUE(DecodeChanges(body, 2, &pairs).ok());
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].key, "k");
  EXPECT_EQ(pairs[0].value, "value");
  EXPECT_EQ(pairs[0].version, (Version{77, 5}));
  EXPECT_FALSE(pairs[0].tombstone);
  EXPECT_EQ(pairs[1].family, 1u);
  EXPECT_EQ(pairs[1].version, (Version{76, 6}));
  EXPECT_TRUE(pairs[1].tombstone);

  EXPECT_FALSE(DecodeChanges(body, 1, &pairs).ok()) << "an unknown family";
  int whole = 0;
  for (size_t size = 1; size < body.size(); ++size) {
    if (!DecodeChanges(body.substr(0, size), 2, &pairs).ok()) continue;
    ++whole;
    EXPECT_EQ(pairs.size(), 1u) << size;
  }
  EXPECT_EQ(whole, 1) << "cut between the two";
}

TEST(StreamMessages, WhatDoesNotBelongIsRefused) {
  StreamOpen open;
  EXPECT_FALSE(DecodeStreamOpen("", &open).ok());
  EXPECT_FALSE(DecodeStreamOpen(EncodeStreamOpen({0, 5, ""}), &open).ok());
  EXPECT_FALSE(DecodeStreamOpen(EncodeStreamOpen({5, 0, ""}), &open).ok());
  EXPECT_FALSE(
      DecodeStreamOpen(EncodeStreamOpen({5, 5, std::string(65, 'z')}), &open)
          .ok());
  EXPECT_FALSE(DecodeStreamOpen(EncodeAlive(), &open).ok());
  uint64_t count = 0;
  EXPECT_FALSE(DecodeStreamCount("", &count).ok());
  EXPECT_FALSE(DecodeStreamCount({"\x05\x00", 2}, &count).ok());
  EXPECT_TRUE(DecodeStreamCount("\x05", &count).ok());
  EXPECT_EQ(count, 5u);

  std::vector<Pair> pairs;
  EXPECT_FALSE(DecodeChanges("", 1, &pairs).ok()) << "nothing at all";
  std::string body;
  PairEncoder on_request(&body);
  on_request.Add({.family = 0,
                  .key = "k",
                  .version = {77, 5},
                  .kind = WirePair::Kind::kOnRequest,
                  .value_size = 5,
                  .value = {},
                  .hash = {}});
  EXPECT_FALSE(DecodeChanges(body, 1, &pairs).ok()) << "no value";
}

TEST(StreamMessages, ListsOfNeighboursAndOfNumbers) {
  const std::vector<Neighbour> neighbours = {{1, ""}, {2, "zone"}};
  const std::string message = EncodeNeighbours(neighbours);
  EXPECT_EQ(Hex(message),
            "05"
            "000000000000000100"
            "0000000000000002047a6f6e65");
  std::vector<Neighbour> read;
  ASSERT_TRUE(DecodeNeighbours(message.substr(1), &read).ok());
  EXPECT_EQ(read, neighbours);
  ASSERT_TRUE(DecodeNeighbours("", &read).ok());
  EXPECT_TRUE(read.empty());
  EXPECT_FALSE(DecodeNeighbours(message.substr(2), &read).ok());

  const std::vector<uint64_t> numbers = {7, 1};
  const std::string list = EncodeStreamList(StreamMessageType::kGraft, numbers);
  EXPECT_EQ(Hex(list), "0800000000000000070000000000000001");
  std::vector<uint64_t> again;
  ASSERT_TRUE(DecodeStreamList(list.substr(1), &again).ok());
  EXPECT_EQ(again, numbers);
  EXPECT_FALSE(DecodeStreamList(list.substr(2), &again).ok());
  EXPECT_FALSE(
      DecodeStreamList(std::string(8 * (kMaxListed + 1), 'x'), &again).ok());
}

TEST(StreamMessages, OfManyPairs) {
  ChangesEncoder changes;
  while (!changes.full()) changes.Add(0, "", {1, 1}, true, {});
  std::vector<Pair> pairs;
  ASSERT_TRUE(DecodeChanges(changes.message().substr(1), 1, &pairs).ok());
  EXPECT_EQ(pairs.size(), kMaxChangesInMessage);
  changes.Add(0, "", {1, 1}, true, {});
  EXPECT_FALSE(DecodeChanges(changes.message().substr(1), 1, &pairs).ok());
}

}  // namespace
}  // namespace rocksync
