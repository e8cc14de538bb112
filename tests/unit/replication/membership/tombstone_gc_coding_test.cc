#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"
#include "replication/membership/announcement.h"
#include "replication/membership/tombstone_gc.h"
#include "tests/unit/replication/membership/gc_states.h"

namespace rocksync {
namespace {

GcState Example() {
  GcState example = Of(300, {0x11, 0x22});
  example.may_hold_deleted_pairs = true;
  example.stable_time = 0x0102;
  example.stable_epoch = 2;
  example.purged = 0x0405;
  example.reached = {0x0203, 3};
  SetSummary(&example, {0x0304, 5});
  SetAcknowledged(&example, {6, 0x0708});
  example.max_acknowledged = 0x0709;
  return example;
}

// No beginning of them decodes, nor anything behind them.
void ExpectNothingLessOrMore(const std::string& bytes) {
  GcState decoded;
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decoded.DecodeFrom(std::string_view(bytes).substr(0, size)));
  }
  EXPECT_FALSE(decoded.DecodeFrom(bytes + '\0'));
}

TEST(GcStateBytesTest, Literal) {
  std::string bytes;
  Example().EncodeTo(&bytes);
  EXPECT_EQ(absl::BytesToHexString(bytes),
            "01"                // may hold deleted pairs
            "ac02"              // epoch 300
            "0000000000000102"  // stable time
            "02"                // reached in epoch 2
            "0000000000000405"  // purged
            "0000000000000203"  // the latest stable time that was reached
            "03"                // in epoch 3
            "0000000000000709"  // promised
            "02"                // two members
            "0000000000000011"
            "ac02"
            "0000000000000304"
            "0000000000000006"
            "0000000000000022"
            "ac02"
            "0000000000000005"
            "0000000000000708");
  GcState decoded;
  ASSERT_TRUE(decoded.DecodeFrom(bytes));
  EXPECT_EQ(decoded, Example());
}

GcState ExampleWithIncarnations() {
  GcState example = Example();
  example.members[1].incarnation = {
      .incarnation = {300, 0x33},
      .first_clock = 0x44,
      .clock = 0x55,
      .past = {.since = 298, .incarnations = {{{299, 0x66}, 0x44}}}};
  return example;
}

TEST(GcStateBytesTest, LiteralWithIncarnations) {
  std::string without;
  Example().EncodeTo(&without);
  std::string bytes;
  ExampleWithIncarnations().EncodeTo(&bytes);
  EXPECT_EQ(bytes[0], 3);
  EXPECT_EQ(bytes.substr(1, without.size() - 1), without.substr(1));
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(without.size())),
            "00"    // of the first nothing is known
            "ac02"  // incarnation 300
            "0000000000000033"
            "0000000000000044"
            "0000000000000055"
            "aa02"  // all lives after 298:
            "01"
            "ab02"
            "0000000000000066"
            "0000000000000044");
  GcState decoded;
  ASSERT_TRUE(decoded.DecodeFrom(bytes));
  EXPECT_EQ(decoded, ExampleWithIncarnations());
  ExpectNothingLessOrMore(bytes);
  // With lives, but none is known.
  without[0] = 3;
  EXPECT_FALSE(decoded.DecodeFrom(without + std::string(2, '\0')));
  // More than anybody hands on.
  GcState long_past = ExampleWithIncarnations();
  long_past.members[1].incarnation.past.incarnations.resize(
      kMaxPastIncarnations + 1);
  bytes.clear();
  long_past.EncodeTo(&bytes);
  EXPECT_FALSE(decoded.DecodeFrom(bytes));
}

TEST(GcStateBytesTest, TheLargestIsWithinItsBound) {
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < kMaxMembers; ++i) ids.push_back(UINT64_MAX - i);
  GcState largest;
  largest.epoch = UINT64_MAX - 1;
  ASSERT_TRUE(largest.SetMembers(UINT64_MAX, ids, UINT64_MAX).ok());
  largest.stable_epoch = largest.reached.epoch = UINT64_MAX;
  Incarnation incarnation = InIncarnation(UINT64_MAX, 1, 1);
  incarnation.past.incarnations.resize(kMaxPastIncarnations,
                                       {{UINT64_MAX, 1}, 1});
  for (Member& member : largest.members) member.incarnation = incarnation;
  std::string bytes;
  largest.EncodeTo(&bytes);
  EXPECT_LE(bytes.size(), kMaxGcStateBytes);
  GcState decoded;
  EXPECT_TRUE(decoded.DecodeFrom(bytes));
}

TEST(GcStateBytesTest, WhatNoEncoderMakesIsRefused) {
  std::string bytes;
  Example().EncodeTo(&bytes);
  GcState decoded;
  ExpectNothingLessOrMore(bytes);
  const auto refused = [](const auto& change) {
    GcState wrong = Example();
    change(&wrong);
    std::string encoded;
    wrong.EncodeTo(&encoded);
    GcState out;
    return !out.DecodeFrom(encoded);
  };
  EXPECT_TRUE(refused([](GcState* f) { f->stable_epoch = 301; }));
  EXPECT_TRUE(refused([](GcState* f) { f->reached.epoch = 301; }));
  EXPECT_TRUE(refused([](GcState* f) { f->purged = 0x0101; }));
  EXPECT_TRUE(refused([](GcState* f) { f->bootstrapping = true; }));
  EXPECT_TRUE(refused([](GcState* f) { f->epoch = 0; }));
  EXPECT_TRUE(refused([](GcState* f) { f->members.clear(); }));
  EXPECT_TRUE(refused([](GcState* f) { f->members[0].since = 301; }));
  EXPECT_TRUE(refused([](GcState* f) { f->members[0].replica_id = 0x22; }));
  bytes[0] = 8;
  EXPECT_FALSE(decoded.DecodeFrom(bytes));
}

TEST(GcStateBytesTest, TheCountIsBoundedBeforeAnythingIsMade) {
  std::string bytes("\0\1", 2);
  bytes += std::string(8 + 1 + 8 + 8 + 1, '\0');
  bytes += "\xff\xff\x7f";
  GcState decoded;
  EXPECT_FALSE(decoded.DecodeFrom(bytes));
  EXPECT_TRUE(decoded.members.empty());
}

TEST(GcStateBytesTest, MoreMembersThanThereMayBeAreRefused) {
  for (const size_t count : {kMaxMembers, kMaxMembers + 1}) {
    GcState gc;
    gc.epoch = 1;
    for (uint64_t id = 1; id <= count; ++id) {
      gc.members.push_back({id, 1});
    }
    std::string bytes;
    gc.EncodeTo(&bytes);
    GcState decoded;
    EXPECT_EQ(decoded.DecodeFrom(bytes), count == kMaxMembers);
  }
}

TEST(GcStateBytesTest, AnAnnouncement) {
  const std::string bytes = Announcement{0x0a0b, Example()}.Encode();
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(0, 9)), "150000000000000a0b");
  Announcement decoded;
  ASSERT_TRUE(decoded.DecodeFrom(bytes));
  EXPECT_EQ(decoded.reading, 0x0a0bu);
  EXPECT_EQ(decoded.gc, Example());
  for (const std::string& wrong :
       {std::string(), std::string("\x16") + bytes.substr(1),
        bytes.substr(0, 8), bytes.substr(0, 20)}) {
    EXPECT_FALSE(decoded.DecodeFrom(wrong));
  }
}

}  // namespace
}  // namespace rocksync
